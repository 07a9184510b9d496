// Runs the statements of the Oracle engine on H2 in its Oracle mode, for the tests: no Oracle Database can be installed there.
//
// It prints its port, and serves each connection with one of H2. The messages are those of peer.rs. What H2 says otherwise than
// Oracle is rewritten in `H2Dialect`: those are the statements that this test does not prove.

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneOffset;

public final class Peer {
    private static final int OPEN = 0, EXECUTE = 1, QUERY = 2, COMMIT = 3, ROLLBACK = 4, PING = 5;
    private static final int DONE = 0, FAILED = 1, TIMED_OUT = 2;
    private static final int NUMBER = 0, DOUBLE = 1, TEXT = 2, BYTES = 3, MOMENT = 4, SPAN = 5;

    private final DataInputStream in;
    private final DataOutputStream out;
    private Connection connection;

    private Peer(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
    }

    public static void main(String[] arguments) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 100, InetAddress.getLoopbackAddress())) {
            System.out.println(server.getLocalPort());
            // The tests end, and with them this program's input.
            Thread watch = new Thread(() -> {
                try {
                    while (System.in.read() >= 0) { }
                } catch (IOException ignored) {
                    // It has ended, too.
                }
                System.exit(0);
            });
            watch.setDaemon(true);
            watch.start();
            while (true) {
                Socket socket = server.accept();
                Thread thread = new Thread(() -> {
                    try (socket) {
                        new Peer(socket).serve();
                    } catch (IOException | SQLException ended) {
                        // The client has gone.
                    }
                });
                thread.setDaemon(true);
                thread.start();
            }
        }
    }

    private void serve() throws IOException, SQLException {
        try {
            while (true) {
                int operation = in.readByte();
                int limit = in.readInt();
                try {
                    run(operation, limit);
                } catch (SQLException error) {
                    fail(error);
                }
                out.flush();
            }
        } finally {
            if (connection != null) {
                connection.rollback();
                connection.close();
            }
        }
    }

    private void fail(SQLException error) throws IOException {
        int code = H2Dialect.code(error);
        if (code == 30006 && !isSchema) {
            out.writeByte(TIMED_OUT);
            return;
        }
        out.writeByte(FAILED);
        out.writeInt(code);
        text(H2Dialect.message(connection, code, error));
    }

    private void run(int operation, int limit) throws IOException, SQLException {
        switch (operation) {
            case OPEN -> {
                String url = "jdbc:h2:mem:" + text() + ";MODE=Oracle;DB_CLOSE_DELAY=-1";
                connection = DriverManager.getConnection(url);
                connection.setAutoCommit(false);
                H2Dialect.prepare(connection);
                out.writeByte(DONE);
            }
            case EXECUTE -> execute(limit);
            case QUERY -> query(limit);
            case COMMIT, ROLLBACK -> {
                if (operation == COMMIT) connection.commit(); else connection.rollback();
                H2Dialect.isolate(connection, "READ COMMITTED");
                out.writeByte(DONE);
            }
            case PING -> out.writeByte(DONE);
            default -> throw new IOException("no such operation");
        }
    }

    /** Whether the last statement changes the schema, for which Oracle has a limit of its own. */
    private boolean isSchema;

    private void limit(int limit, String sql) throws SQLException {
        isSchema = sql.startsWith("CREATE") || sql.startsWith("ALTER") || sql.startsWith("COMMENT");
        int most = isSchema ? 400 : 60_000;
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET LOCK_TIMEOUT " + (limit == 0 ? most : Math.min(limit, most)));
        }
    }

    private void execute(int limit) throws IOException, SQLException {
        String sql = text();
        boolean returned = in.readBoolean();
        int rows = in.readInt();
        Object[][] values = new Object[rows][];
        for (int row = 0; row < rows; row++) {
            values[row] = values();
        }
        limit(limit, sql);
        if (H2Dialect.runs(connection, sql)) {
            out.writeByte(DONE);
            out.writeLong(0);
            out.writeInt(0);
            return;
        }
        long count = 0;
        Object[][] found = new Object[returned ? rows : 0][];
        try (PreparedStatement statement = connection.prepareStatement(H2Dialect.translated(sql))) {
            for (int row = 0; row < rows; row++) {
                bind(statement, values[row]);
                if (!returned) {
                    count += statement.execute() ? 0 : statement.getLargeUpdateCount();
                    continue;
                }
                // H2 does not undo what a query has changed before it failed.
                java.sql.Savepoint before = connection.setSavepoint();
                try (ResultSet result = statement.executeQuery()) {
                    java.util.ArrayList<Object> keys = new java.util.ArrayList<>();
                    while (result.next()) {
                        keys.add(result.getObject(1));
                    }
                    found[row] = keys.toArray();
                    count += keys.size();
                } catch (SQLException error) {
                    connection.rollback(before);
                    throw error;
                }
            }
        }
        out.writeByte(DONE);
        out.writeLong(count);
        out.writeInt(found.length);
        for (Object[] keys : found) {
            out.writeInt(keys.length);
            for (Object key : keys) {
                cell(key);
            }
        }
    }

    private void query(int limit) throws IOException, SQLException {
        String sql = text();
        Object[] values = values();
        limit(limit, sql);
        try (PreparedStatement statement = connection.prepareStatement(H2Dialect.translated(sql))) {
            bind(statement, values);
            try (ResultSet result = statement.executeQuery()) {
                ResultSetMetaData columns = result.getMetaData();
                out.writeByte(DONE);
                out.writeInt(columns.getColumnCount());
                for (int at = 1; at <= columns.getColumnCount(); at++) {
                    text(columns.getColumnLabel(at));
                    out.writeByte(kind(columns, at));
                    out.writeInt(columns.getPrecision(at));
                    out.writeInt(columns.getScale(at));
                }
                while (result.next()) {
                    out.writeBoolean(true);
                    for (int at = 1; at <= columns.getColumnCount(); at++) {
                        // A Timestamp would be one of the Julian calendar.
                        cell(kind(columns, at) == MOMENT
                            ? result.getObject(at, LocalDateTime.class) : result.getObject(at));
                    }
                }
                out.writeBoolean(false);
            }
        }
    }

    private static int kind(ResultSetMetaData columns, int at) throws SQLException {
        return switch (columns.getColumnType(at)) {
            case Types.DOUBLE, Types.FLOAT, Types.REAL -> DOUBLE;
            case Types.BINARY, Types.VARBINARY, Types.BLOB, Types.LONGVARBINARY -> BYTES;
            case Types.TIMESTAMP, Types.DATE -> MOMENT;
            case Types.NUMERIC, Types.DECIMAL, Types.BIGINT, Types.INTEGER, Types.SMALLINT, Types.TINYINT -> NUMBER;
            case Types.OTHER -> columns.getColumnTypeName(at).startsWith("INTERVAL") ? SPAN : TEXT;
            default -> TEXT;
        };
    }

    private static void bind(PreparedStatement statement, Object[] values) throws SQLException {
        for (int at = 0; at < values.length; at++) {
            statement.setObject(at + 1, values[at]);
        }
    }

    private Object[] values() throws IOException {
        Object[] values = new Object[in.readInt()];
        for (int at = 0; at < values.length; at++) {
            int kind = in.readByte();
            values[at] = switch (in.readByte()) {
                case 0 -> null;
                case 1 -> integer(kind, in.readLong());
                case 2 -> java.math.BigDecimal.valueOf(in.readLong(), 4);
                case 3 -> in.readDouble();
                case 4 -> text();
                default -> bytes();
            };
        }
        return values;
    }

    private static Object integer(int kind, long value) {
        return switch (kind) {
            case MOMENT -> LocalDateTime.ofEpochSecond(
                Math.floorDiv(value, 1_000_000L),
                (int) Math.floorMod(value, 1_000_000L) * 1_000,
                ZoneOffset.UTC);
            case SPAN -> Duration.ofNanos(value * 1_000);
            default -> value;
        };
    }

    private void cell(Object value) throws IOException, SQLException {
        if (value == null) {
            out.writeByte(0);
        } else if (value instanceof Double || value instanceof Float) {
            out.writeByte(2);
            out.writeDouble(((Number) value).doubleValue());
        } else if (value instanceof byte[] bytes) {
            bytes(bytes);
        } else if (value instanceof java.sql.Blob blob) {
            bytes(blob.getBytes(1, (int) blob.length()));
        } else if (value instanceof java.sql.Clob clob) {
            letters(clob.getSubString(1, (int) clob.length()));
        } else if (value instanceof LocalDateTime time) {
            moment(time);
        } else if (value instanceof org.h2.api.Interval span) {
            out.writeByte(6);
            out.writeLong(micros(span));
        } else if (value instanceof Boolean truth) {
            digits(truth ? "1" : "0");
        } else if (value instanceof Number number) {
            digits(new java.math.BigDecimal(number.toString()).toPlainString());
        } else {
            letters(value.toString());
        }
    }

    private static long micros(org.h2.api.Interval span) {
        long seconds = ((span.getDays() * 24 + span.getHours()) * 60 + span.getMinutes()) * 60 + span.getSeconds();
        return seconds * 1_000_000 + span.getNanosOfSecond() / 1_000;
    }

    private void digits(String number) throws IOException {
        out.writeByte(1);
        text(number);
    }

    private void letters(String text) throws IOException {
        // As Oracle has it: nothing is empty.
        if (text.isEmpty()) {
            out.writeByte(0);
            return;
        }
        out.writeByte(3);
        text(text);
    }

    private void bytes(byte[] bytes) throws IOException {
        if (bytes.length == 0) {
            out.writeByte(0);
            return;
        }
        out.writeByte(4);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private void moment(LocalDateTime time) throws IOException {
        out.writeByte(5);
        out.writeLong(time.toEpochSecond(ZoneOffset.UTC) * 1_000_000 + time.getNano() / 1_000);
        out.writeInt(time.getNano() % 1_000);
    }

    private String text() throws IOException {
        return new String(bytes(), StandardCharsets.UTF_8);
    }

    private byte[] bytes() throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return bytes;
    }

    private void text(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
