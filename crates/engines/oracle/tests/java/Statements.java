// Runs the statements of its input, one a line, on HSQLDB with Oracle's syntax: those that change the schema are executed, the others
// are prepared. Prints what it rejects, and at the end how many it took.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;

public final class Statements {
    public static void main(String[] arguments) throws Exception {
        int taken = 0;
        try (Connection connection = DriverManager.getConnection("jdbc:hsqldb:mem:statements", "SA", "");
             Statement statement = connection.createStatement()) {
            statement.execute("SET DATABASE SQL SYNTAX ORA TRUE");
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                try {
                    if (line.matches("(CREATE|ALTER|COMMENT) .*")) {
                        // Its sequences are of INT, and have no cache.
                        statement.execute(line.startsWith("CREATE SEQUENCE")
                            ? line.replace(" START ", " AS BIGINT START ").replaceAll(" CACHE [0-9]+", "") : line);
                    } else {
                        // JDBC has no names for parameters.
                        connection.prepareStatement(line.replaceAll(":[0-9]+", "?")).close();
                    }
                    taken++;
                } catch (SQLException error) {
                    System.out.println("REJECTED\t" + line + "\t" + error.getMessage());
                }
            }
        }
        System.out.println("TAKEN\t" + taken);
    }
}
