// Runs a query of UCanAccess, and prints its rows: `java -cp JARS Sql.java FILE QUERY`.

import java.sql.*;

public class Sql {
    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection("jdbc:ucanaccess://" + args[0] + ";memory=true");
             Statement statement = connection.createStatement();
             ResultSet rows = statement.executeQuery(args[1])) {
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                StringBuilder line = new StringBuilder();
                for (int column = 1; column <= columns; column++) {
                    line.append(column == 1 ? "" : "|").append(rows.getString(column));
                }
                System.out.println(line);
            }
        }
    }
}
