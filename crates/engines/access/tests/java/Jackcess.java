// What the tests do with Jackcess, an independent implementation of Access's format: `java -cp JARS Jackcess.java COMMAND FILE …`.

import com.healthmarketscience.jackcess.*;
import java.io.File;
import java.util.*;

public class Jackcess {
    public static void main(String[] args) throws Exception {
        try (Database db = new DatabaseBuilder(new File(args[1])).open()) {
            db.setDateTimeType(DateTimeType.LOCAL_DATE_TIME);
            switch (args[0]) {
                case "check" -> check(db);
                case "copy" -> copy(db, new File(args[2]));
                case "add" -> add(db, args[2], args[3]);
                case "relations" -> relations(db);
                default -> throw new IllegalArgumentException(args[0]);
            }
        }
    }

    /** Finds each row through each index, and counts the entries. */
    static void check(Database db) throws Exception {
        for (Table table : db) {
            long rows = 0;
            for (Row row : table) {
                rows++;
            }
            if (rows != table.getRowCount()) {
                throw new IllegalStateException(table.getName() + ": " + rows + " rows, and a count of " + table.getRowCount());
            }
            for (Index index : table.getIndexes()) {
                IndexCursor cursor = CursorBuilder.createCursor(index);
                long entries = 0;
                while (cursor.moveToNextRow()) {
                    entries++;
                }
                if (entries != rows && !index.shouldIgnoreNulls()) {
                    throw new IllegalStateException(table.getName() + "." + index.getName() + ": " + entries + " entries of " + rows);
                }
                long found = 0;
                long step = Math.max(1, rows / 20000);
                long number = 0;
                for (Row row : table) {
                    if (number++ % step != 0) {
                        continue;
                    }
                    Object[] key = index.getColumns().stream().map(column -> row.get(column.getName())).toArray();
                    if (!cursor.findFirstRowByEntry(key)) {
                        throw new IllegalStateException(table.getName() + "." + index.getName() + " lacks " + Arrays.toString(key));
                    }
                    for (int i = 0; i < key.length; i++) {
                        Object other = cursor.getCurrentRowValue(table.getColumn(index.getColumns().get(i).getName()));
                        if (!same(key[i], other)) {
                            throw new IllegalStateException(table.getName() + "." + index.getName() + " found " + other + " for " + key[i]);
                        }
                    }
                    found++;
                }
                System.out.println(table.getName() + "." + index.getName() + ": " + entries + " entries, " + found + " found");
            }
            System.out.println(table.getName() + ": " + rows + " rows");
        }
    }

    static boolean same(Object a, Object b) {
        if (a instanceof byte[] x && b instanceof byte[] y) {
            return Arrays.equals(x, y);
        }
        if (a instanceof String x && b instanceof String y) {
            return x.stripTrailing().equalsIgnoreCase(y.stripTrailing());
        }
        return Objects.equals(a, b);
    }

    /** Copies all tables without indexes to a new file of the same format. */
    static void copy(Database db, File target) throws Exception {
        boolean isOld = target.getName().endsWith(".mdb");
        Database.FileFormat format = isOld ? Database.FileFormat.V2000 : Database.FileFormat.V2010;
        try (Database copy = DatabaseBuilder.create(format, target)) {
            copy.setDateTimeType(DateTimeType.LOCAL_DATE_TIME);
            for (Table table : db) {
                TableBuilder builder = new TableBuilder(table.getName());
                for (Column column : table.getColumns()) {
                    builder.addColumn(new ColumnBuilder(column.getName()).setFromColumn(column).setAutoNumber(false));
                }
                for (Index index : table.getIndexes()) {
                    if (index.isPrimaryKey()) {
                        IndexBuilder key = new IndexBuilder(index.getName()).setPrimaryKey();
                        index.getColumns().forEach(column -> key.addColumns(column.getName()));
                        builder.addIndex(key);
                    }
                }
                Table to = builder.toTable(copy);
                List<Object[]> rows = new ArrayList<>();
                for (Row row : table) {
                    rows.add(to.asRow(row));
                    if (rows.size() == 1000) {
                        to.addRows(rows);
                        rows.clear();
                    }
                }
                to.addRows(rows);
            }
        }
    }

    /** Adds rows: each is a number and the text. */
    static void add(Database db, String name, String text) throws Exception {
        Table table = db.getTable(name);
        for (int number = 0; number < 300; number++) {
            Map<String, Object> row = new HashMap<>();
            for (Column column : table.getColumns()) {
                if (!column.isAutoNumber()) {
                    row.put(column.getName(), column.getType().isTextual() ? text + number : null);
                }
            }
            table.addRowFromMap(row);
        }
        check(db);
    }

    static void relations(Database db) throws Exception {
        for (Relationship relation : db.getRelationships()) {
            System.out.println(relation.getFromTable().getName() + relation.getFromColumns().stream().map(Column::getName).toList()
                + " <- " + relation.getToTable().getName() + relation.getToColumns().stream().map(Column::getName).toList()
                + (relation.cascadeDeletes() ? " cascade" : "") + (relation.cascadeNullOnDelete() ? " null" : ""));
        }
        for (Table table : db) {
            for (Index index : table.getIndexes()) {
                if (index.isForeignKey()) {
                    System.out.println(table.getName() + "." + index.getName() + " -> " + index.getReferencedIndex().getTable().getName());
                }
            }
        }
    }
}
