// What H2 says otherwise than Oracle.
//
// * RETURNING … INTO: H2 has FINAL TABLE and OLD TABLE.
// * Indexes of expressions: H2 has none; a generated column takes their place.
// * ALTER SESSION, and the isolation of one transaction.
// * ALTER SEQUENCE … RESTART START WITH, ALTER TABLE … MODIFY.
// * The catalog: views with Oracle's names.

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

final class H2Dialect {
    private static final Pattern RETURNING = Pattern.compile(
        "(?s)(INSERT|UPDATE|DELETE)(.*) RETURNING (\"[^\"]*\") INTO :\\d+");
    private static final Pattern INDEX = Pattern.compile(
        "(?s)CREATE UNIQUE INDEX (\"[^\"]*\") ON (\"[^\"]*\") \\((.*)\\)");
    private static final Pattern MODIFY = Pattern.compile(
        "(?s)(ALTER TABLE \"[^\"]*\") MODIFY \\((\"[^\"]*\") DEFAULT NULL\\)");
    private static final Pattern REQUIRED = Pattern.compile(
        "(?s)(ALTER TABLE \"[^\"]*\") MODIFY \\((\"[^\"]*\") NOT NULL\\)");
    private static final Pattern NAME = Pattern.compile("bobak_[a-z][0-9a-f]{16}");
    private static final Pattern COLUMN = Pattern.compile("column \"\"?([^\"]*?)\"?(?: [A-Z ]+\\(\\d+\\))?\"");
    private static final Pattern PRIMARY = Pattern.compile("PRIMARY KEY ON PUBLIC\\.(?:\"\"([^\"]*)\"\"|(\\w+))\\(");
    private static final Pattern SYSTEM_INDEX = Pattern.compile("(?:PRIMARY_KEY|CONSTRAINT_INDEX)_\\w+");

    /** The errors that have another number in Oracle. */
    private static final Map<Integer, Integer> CODES = Map.ofEntries(
        Map.entry(23505, 1), Map.entry(23502, 1400), Map.entry(23513, 2290), Map.entry(23514, 2290),
        Map.entry(23503, 2292), Map.entry(23506, 2291), Map.entry(22001, 12899), Map.entry(22003, 1438),
        Map.entry(22018, 1722), Map.entry(22012, 1476), Map.entry(50200, 30006), Map.entry(40001, 60),
        Map.entry(90131, 8177), Map.entry(42102, 942), Map.entry(42103, 942), Map.entry(42104, 942),
        Map.entry(42122, 904), Map.entry(42101, 955), Map.entry(42000, 900), Map.entry(42001, 900),
        Map.entry(90006, 8004), Map.entry(90036, 2289), Map.entry(57014, 1013));

    private H2Dialect() {
    }

    static int code(SQLException error) {
        // A sequence that is not there is a column to H2.
        if (error.getErrorCode() == 42122 && error.getMessage().contains(".NEXTVAL")) return 2289;
        return CODES.getOrDefault(error.getErrorCode(), 600_000 + error.getErrorCode() % 100_000);
    }

    /** The message with the name where Oracle has it. */
    static String message(Connection connection, int code, SQLException error) {
        String message = error.getMessage();
        String prefix = String.format("ORA-%05d: ", code);
        switch (code) {
            case 1, 2290, 2291, 2292 -> {
                return prefix + "constraint (PUBLIC." + constraint(connection, message) + ") violated: " + message;
            }
            case 1400, 12899 -> {
                Matcher found = COLUMN.matcher(message);
                String column = found.find() ? found.group(1) : "";
                String where = code == 1400 ? "NULL into (" : "for column ";
                return prefix + where + "\"PUBLIC\".\"T\".\"" + column + "\") " + message;
            }
            default -> {
                return prefix + message;
            }
        }
    }

    private static String constraint(Connection connection, String message) {
        Matcher named = NAME.matcher(message);
        if (named.find()) return named.group();
        try {
            Matcher primary = PRIMARY.matcher(message);
            if (primary.find()) {
                String table = primary.group(1) != null ? primary.group(1) : primary.group(2);
                return one(connection, "SELECT CONSTRAINT_NAME FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS "
                    + "WHERE CONSTRAINT_TYPE = 'PRIMARY KEY' AND TABLE_NAME = ?", table);
            }
            Matcher index = SYSTEM_INDEX.matcher(message);
            if (index.find()) {
                return one(connection, "SELECT CONSTRAINT_NAME FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS "
                    + "WHERE INDEX_NAME = ?", index.group());
            }
        } catch (SQLException unknown) {
            return "";
        }
        return "";
    }

    private static String one(Connection connection, String sql, String value) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, value);
            try (ResultSet result = statement.executeQuery()) {
                return result.next() ? result.getString(1) : "";
            }
        }
    }

    static void isolate(Connection connection, String level) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL " + level);
        }
    }

    /** Runs a statement that H2 does in several, or not at all. */
    static boolean runs(Connection connection, String sql) throws SQLException {
        if (sql.startsWith("ALTER SESSION")) return true;
        if (sql.equals("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")) {
            isolate(connection, "SNAPSHOT");
            return true;
        }
        Matcher index = INDEX.matcher(sql);
        if (!index.matches()) return false;
        List<String> columns = new ArrayList<>();
        try (Statement statement = connection.createStatement()) {
            for (String part : parts(index.group(3))) {
                if (part.startsWith("\"")) {
                    columns.add(part);
                    continue;
                }
                String name = index.group(1).replaceAll("\"$", "_" + columns.size() + "\"");
                statement.execute("ALTER TABLE " + index.group(2) + " ADD COLUMN " + name
                    + " VARCHAR GENERATED ALWAYS AS (" + part + ")");
                columns.add(name);
            }
            statement.execute("CREATE UNIQUE INDEX " + index.group(1) + " ON " + index.group(2)
                + " (" + String.join(", ", columns) + ")");
        }
        return true;
    }

    /** What commas outside parentheses and texts part. */
    private static List<String> parts(String list) {
        List<String> parts = new ArrayList<>();
        int depth = 0, from = 0;
        boolean quoted = false;
        for (int at = 0; at < list.length(); at++) {
            switch (list.charAt(at)) {
                case '\'' -> quoted = !quoted;
                case '(' -> depth += quoted ? 0 : 1;
                case ')' -> depth -= quoted ? 0 : 1;
                case ',' -> {
                    if (depth == 0 && !quoted) {
                        parts.add(list.substring(from, at).trim());
                        from = at + 1;
                    }
                }
                default -> { }
            }
        }
        parts.add(list.substring(from).trim());
        return parts;
    }

    static String translated(String sql) {
        Matcher returning = RETURNING.matcher(sql);
        if (returning.matches()) {
            String which = returning.group(1).equals("DELETE") ? "OLD" : "FINAL";
            sql = "SELECT " + returning.group(3) + " FROM " + which + " TABLE (" + returning.group(1)
                + returning.group(2) + ")";
        }
        Matcher modify = MODIFY.matcher(sql);
        if (modify.matches()) {
            sql = modify.group(1) + " ALTER COLUMN " + modify.group(2) + " DROP DEFAULT";
        }
        Matcher required = REQUIRED.matcher(sql);
        if (required.matches()) {
            sql = required.group(1) + " ALTER COLUMN " + required.group(2) + " SET NOT NULL";
        }
        return marks(sql.replace(" RESTART START WITH ", " RESTART WITH "));
    }

    /** `:1` outside texts and names as `?1`. */
    private static String marks(String sql) {
        StringBuilder text = new StringBuilder();
        char quote = 0;
        for (int at = 0; at < sql.length(); at++) {
            char letter = sql.charAt(at);
            if (quote != 0) {
                quote = letter == quote ? 0 : quote;
            } else if (letter == '\'' || letter == '"') {
                quote = letter;
            } else if (letter == ':' && at + 1 < sql.length() && Character.isDigit(sql.charAt(at + 1))) {
                letter = '?';
            }
            text.append(letter);
        }
        return text.toString();
    }

    /** The views of the catalog, and what functions H2 has not. */
    static void prepare(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String view : VIEWS) {
                statement.execute("CREATE VIEW IF NOT EXISTS " + view);
            }
            statement.execute("CREATE ALIAS IF NOT EXISTS TO_BINARY_DOUBLE FOR 'java.lang.Double.parseDouble'");
        }
        connection.commit();
    }

    private static final String[] VIEWS = {
        "NLS_DATABASE_PARAMETERS AS SELECT 'NLS_CHARACTERSET' AS PARAMETER, 'AL32UTF8' AS \"VALUE\"",
        "USER_TABLES AS SELECT TABLE_NAME, 'NO' AS NESTED, 'N' AS SECONDARY, 'NO' AS DROPPED "
            + "FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'PUBLIC' AND TABLE_TYPE = 'BASE TABLE'",
        "USER_TAB_COMMENTS AS SELECT TABLE_NAME, 'TABLE' AS TABLE_TYPE, REMARKS AS COMMENTS "
            + "FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'PUBLIC' AND TABLE_TYPE = 'BASE TABLE'",
        "USER_COL_COMMENTS AS SELECT TABLE_NAME, COLUMN_NAME, REMARKS AS COMMENTS "
            + "FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = 'PUBLIC'",
        "USER_TAB_COLUMNS AS SELECT TABLE_NAME, COLUMN_NAME, CASE DATA_TYPE "
            + "WHEN 'CHARACTER VARYING' THEN 'VARCHAR2' WHEN 'CHARACTER LARGE OBJECT' THEN 'CLOB' "
            + "WHEN 'BINARY VARYING' THEN 'RAW' WHEN 'BINARY LARGE OBJECT' THEN 'BLOB' WHEN 'NUMERIC' THEN 'NUMBER' "
            + "WHEN 'DOUBLE PRECISION' THEN 'BINARY_DOUBLE' ELSE DATA_TYPE END AS DATA_TYPE, "
            + "NUMERIC_PRECISION AS DATA_PRECISION, NUMERIC_SCALE AS DATA_SCALE, "
            + "CHARACTER_MAXIMUM_LENGTH AS CHAR_LENGTH, CHARACTER_OCTET_LENGTH AS DATA_LENGTH, "
            + "CASE IS_NULLABLE WHEN 'YES' THEN 'Y' ELSE 'N' END AS NULLABLE, IS_IDENTITY AS IDENTITY_COLUMN, "
            + "ORDINAL_POSITION AS COLUMN_ID FROM INFORMATION_SCHEMA.COLUMNS "
            + "WHERE TABLE_SCHEMA = 'PUBLIC' AND IS_GENERATED = 'NEVER'",
        "USER_CONSTRAINTS AS SELECT C.TABLE_NAME, C.CONSTRAINT_NAME, "
            + "CASE C.CONSTRAINT_TYPE WHEN 'PRIMARY KEY' THEN 'P' WHEN 'UNIQUE' THEN 'U' WHEN 'FOREIGN KEY' THEN 'R' "
            + "ELSE 'C' END AS CONSTRAINT_TYPE, R.UNIQUE_CONSTRAINT_NAME AS R_CONSTRAINT_NAME, R.DELETE_RULE "
            + "FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS C LEFT JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS R "
            + "ON R.CONSTRAINT_NAME = C.CONSTRAINT_NAME WHERE C.TABLE_SCHEMA = 'PUBLIC'",
        "USER_CONS_COLUMNS AS SELECT CONSTRAINT_NAME, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION AS \"POSITION\" "
            + "FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = 'PUBLIC'",
        "USER_INDEXES AS SELECT I.TABLE_NAME, COALESCE(C.CONSTRAINT_NAME, I.INDEX_NAME) AS INDEX_NAME, "
            + "CASE WHEN I.INDEX_TYPE_NAME LIKE '%INDEX' AND I.INDEX_TYPE_NAME NOT LIKE '%UNIQUE%' "
            + "THEN 'NONUNIQUE' ELSE 'UNIQUE' END AS UNIQUENESS, 'NORMAL' AS INDEX_TYPE, I.INDEX_NAME AS OWN_NAME "
            + "FROM INFORMATION_SCHEMA.INDEXES I LEFT JOIN INFORMATION_SCHEMA.TABLE_CONSTRAINTS C "
            + "ON C.INDEX_NAME = I.INDEX_NAME AND C.CONSTRAINT_TYPE IN ('PRIMARY KEY', 'UNIQUE') "
            + "WHERE I.TABLE_SCHEMA = 'PUBLIC'",
        "USER_IND_COLUMNS AS SELECT I.INDEX_NAME, K.COLUMN_NAME, K.ORDINAL_POSITION AS COLUMN_POSITION "
            + "FROM USER_INDEXES I JOIN INFORMATION_SCHEMA.INDEX_COLUMNS K ON K.INDEX_NAME = I.OWN_NAME",
        "USER_SEQUENCES AS SELECT SEQUENCE_NAME, BASE_VALUE AS LAST_NUMBER "
            + "FROM INFORMATION_SCHEMA.SEQUENCES WHERE SEQUENCE_SCHEMA = 'PUBLIC'",
    };
}
