//! The triggers of change capture on PostgreSQL.
//!
//! The function that writes a log runs with the permissions of the role that tracked the table, so that roles that may write the
//! table need no permissions on its log. Its `search_path` is fixed, and it names all tables with their schema: a writer may have
//! any `search_path`. The schema is the one that is current when the table is tracked, which only the server knows, so a
//! `DO` block puts the function together.
//!
//! Row triggers run in the order of their names. The capture trigger has a name before all others, so that a change is
//! logged before what other triggers and foreign keys make of it. That is not enough if a statement changes several rows: all
//! rows are changed first, then the triggers run for one row after the other, and those of the first row may change
//! the others, whose change by the statement is not logged yet. So once a trigger has changed a row of a tracked table,
//! all changes up to the end of the transaction are logged with the row that is stored by then.

use crate::Dialect;
use crate::capture_triggers::{CAPTURE_TRIGGER, LOCK, VERBS, images, of_key, sides};
use crate::dialect::quote;
use crate::writer::Writer;
use bobak_core::change_log::{COUNTER_TABLE, LOG_PREFIX};
use bobak_core::{TableSchema, Type, ValueRef};

/// The setting that tells that a trigger has changed a row in this transaction.
const NESTED: &str = "current_setting('bobak.nested', true) = 'on'";

/// Begins the body of the function that writes a log. Those of earlier versions lack it, see
/// [`list_triggers`](crate::list_triggers).
const MARK: &str = "/* bobak: log 3 */";

/// The types whose values are logged the same whatever the settings of the writer's session are. Others are logged as texts.
const EXACT: &str = "bool,int2,int4,int8,float4,float8,numeric,text,varchar,bpchar,name,bytea,uuid,\
                     date,time,timestamp,timestamptz,json,jsonb";

/// Gives the texts of other types the format that Bobak's own sessions read them in. These settings cost up to
/// a tenth of a tracked insert, so that only tables with such columns get them.
const FORMATS: &str = " SET datestyle FROM CURRENT SET timezone FROM CURRENT \
                       SET intervalstyle FROM CURRENT SET extra_float_digits FROM CURRENT \
                       SET bytea_output FROM CURRENT SET lc_monetary FROM CURRENT";

/// An expression whose value is SQL with the name of the current schema.
#[derive(Default)]
struct SchemaText(String);

impl SchemaText {
    fn append(&mut self, expression: &str) {
        if !self.0.is_empty() {
            self.0.push_str(" || ");
        }
        self.0.push_str(expression);
    }

    fn raw(&mut self, sql: &str) -> &mut Self {
        self.append(&literal(sql));
        self
    }

    /// A quoted name in the current schema.
    fn own(&mut self, name: &str) -> &mut Self {
        self.append("own");
        self.raw(&format!(".{name}"))
    }

    /// As a string: a sequence.
    fn sequence(&mut self, name: &str) -> &mut Self {
        self.append(&format!("quote_literal(own || '.{name}')"));
        self
    }
}

fn literal(text: &str) -> String {
    let mut out = Writer::new(Dialect::Postgres);
    out.literal(ValueRef::Text(text));
    out.into_text()
}

/// What creates the triggers.
pub(crate) fn postgres_triggers(table: &TableSchema, log: &TableSchema) -> Vec<String> {
    let dialect = Dialect::Postgres;
    let (name, log_name) = (quote(dialect, table.name()), quote(dialect, log.name()));
    let mut texts = drop_postgres_triggers(table);
    texts.push(format!(
        "CREATE OR REPLACE FUNCTION bobak_feed_lock() RETURNS trigger LANGUAGE plpgsql AS \
         $bobak$ BEGIN PERFORM pg_catalog.pg_advisory_xact_lock({LOCK}); RETURN NULL; END $bobak$"
    ));
    texts.push(
        "CREATE OR REPLACE FUNCTION bobak_feed_whole() RETURNS trigger LANGUAGE plpgsql AS \
         $bobak$ BEGIN IF EXISTS (SELECT 1 FROM pg_catalog.pg_trigger WHERE tgrelid = TG_RELID \
         AND tgname IN ('!bobak_log', 'bobak_log')) THEN \
         RAISE EXCEPTION 'the table is tracked: delete its rows, TRUNCATE would \
         not be captured' USING ERRCODE = 'feature_not_supported'; END IF; \
         RETURN NULL; END $bobak$"
            .to_owned(),
    );
    texts.push(create_function(table, log));
    for (trigger, when, each, function) in [
        ("bobak_lock", "BEFORE INSERT OR UPDATE OR DELETE", "STATEMENT", "bobak_feed_lock"),
        ("bobak_whole", "BEFORE TRUNCATE", "STATEMENT", "bobak_feed_whole"),
        (CAPTURE_TRIGGER, "AFTER INSERT OR UPDATE OR DELETE", "ROW", log_name.as_str()),
    ] {
        texts.push(format!(
            "CREATE TRIGGER \"{trigger}\" {when} ON {name} FOR EACH {each} \
             EXECUTE FUNCTION {function}()"
        ));
    }
    texts.push(of_partitions(
        table,
        "CREATE TRIGGER bobak_whole BEFORE TRUNCATE ON %s FOR EACH STATEMENT \
         EXECUTE FUNCTION bobak_feed_whole()",
    ));
    texts
}

/// What drops the triggers and their function.
pub(crate) fn drop_postgres_triggers(table: &TableSchema) -> Vec<String> {
    let name = quote(Dialect::Postgres, table.name());
    let function = quote(Dialect::Postgres, &format!("{LOG_PREFIX}{}", table.name()));
    // The last one is of earlier versions.
    let names = ["bobak_lock", "bobak_whole", CAPTURE_TRIGGER, "bobak_log"];
    let drop = |trigger| format!("DROP TRIGGER IF EXISTS \"{trigger}\" ON {name}");
    let mut texts: Vec<_> = names.into_iter().map(drop).collect();
    texts.push(of_partitions(table, "DROP TRIGGER IF EXISTS bobak_whole ON %s"));
    texts.push(format!("DROP FUNCTION IF EXISTS {function}()"));
    texts
}

/// Runs a statement for each partition: the server gives them the table's row triggers only.
fn of_partitions(table: &TableSchema, statement: &str) -> String {
    let name = quote(Dialect::Postgres, table.name());
    let block = format!(
        "DECLARE part regclass; BEGIN FOR part IN SELECT p.relid FROM \
         pg_partition_tree(to_regclass({name})) p JOIN pg_class c ON c.oid = p.relid \
         WHERE p.level > 0 AND c.relkind IN ('r', 'p') LOOP \
         EXECUTE format({statement}, part); END LOOP; END",
        name = literal(&name),
        statement = literal(statement),
    );
    format!("DO {}", literal(&block))
}

/// What creates the function that writes the log. Of other roles, only the table's owner may create triggers with it, which a
/// new partition needs.
fn create_function(table: &TableSchema, log: &TableSchema) -> String {
    let dialect = Dialect::Postgres;
    let (name, function) = (quote(dialect, table.name()), quote(dialect, log.name()));
    let mut start = SchemaText::default();
    start.raw("CREATE FUNCTION ").own(&function);
    start.raw(
        "() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp",
    );
    start.append("formats");
    start.raw(" AS ");
    let mut grants = SchemaText::default();
    grants.raw(" ON FUNCTION ").own(&function).raw("()");
    // Strings in single quotes: a name may contain whatever ends one in dollars.
    let columns = format!(
        "FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid \
         WHERE a.attrelid = (own || {table})::regclass AND a.attnum > 0 AND NOT a.attisdropped",
        table = literal(&format!(".{name}")),
    );
    let block = format!(
        "DECLARE own text := quote_ident(current_schema()); \
         padded text[] := ARRAY(SELECT a.attname::text {columns} \
         AND 'bpchar'::regtype IN (t.oid, t.typbasetype)); \
         formats text := CASE WHEN EXISTS (SELECT 1 {columns} AND t.typtype <> 'e' \
         AND coalesce(nullif(t.typbasetype, 0), t.oid) <> ALL ('{{{EXACT}}}'::regtype[])) \
         THEN {formats} ELSE '' END; BEGIN \
         EXECUTE {start} || quote_literal({body}); \
         EXECUTE 'REVOKE ALL' || {grants} || ' FROM PUBLIC'; \
         EXECUTE 'GRANT EXECUTE' || {grants} || ' TO ' || (SELECT quote_ident(r.rolname) \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_roles r ON r.oid = c.relowner \
         WHERE c.oid = (own || {table})::regclass); END",
        formats = literal(FORMATS),
        start = start.0,
        body = body(table, log).0,
        grants = grants.0,
        table = literal(&format!(".{name}")),
    );
    format!("DO {}", literal(&block))
}

fn body(table: &TableSchema, log: &TableSchema) -> SchemaText {
    let mut body = SchemaText::default();
    body.raw(MARK).raw(
        " DECLARE \
         moment int8 := (extract(epoch FROM clock_timestamp()) * 1000000)::int8; \
         known int8; number int8; operation text := TG_OP; stored record; \
         caller text := coalesce(nullif(current_setting('bobak.actor', true), ''), \
         (SELECT who FROM ",
    );
    body.own(COUNTER_TABLE).raw(")); BEGIN ");
    look_up(&mut body, table);
    body.raw("SELECT last_value INTO known FROM ").own("bobak_feed_at");
    body.raw("; IF known < moment THEN PERFORM setval(").sequence("bobak_feed_at");
    body.raw(", moment); ELSE moment := known; END IF; number := nextval(");
    body.sequence("bobak_feed_seq").raw("); ");
    for (verb, number) in VERBS {
        let (columns, _) = images(Dialect::Postgres, table, log, sides(number));
        body.raw(&format!("IF operation = '{verb}' THEN INSERT INTO "));
        body.own(&quote(Dialect::Postgres, log.name())).raw(&format!(
            " (seq, at, who, verb, {columns}) VALUES (number, moment, caller, {number}"
        ));
        values(&mut body, table, number);
        body.raw("); END IF; ");
    }
    body.raw("RETURN NULL; END");
    body
}

/// Appends the values before and after. Those of the type `char(n)` keep the spaces that a cast to text removes.
fn values(body: &mut SchemaText, table: &TableSchema, verb: u8) {
    for column in table.columns() {
        let name = quote(Dialect::Postgres, &column.name);
        for side in sides(verb).into_iter().flatten() {
            let value = format!(", {side}.{name}");
            if column.ty != Type::Text || column.declared.is_some() {
                body.raw(&value);
                continue;
            }
            body.append(&format!(
                "CASE WHEN {} = ANY (padded) THEN {} ELSE {} END",
                literal(&column.name),
                literal(&format!(", textin(bpcharout({side}.{name}))")),
                literal(&value),
            ));
        }
    }
}

/// Once a trigger has changed a row, the changes are those that lead to the stored rows.
fn look_up(body: &mut SchemaText, table: &TableSchema) {
    let dialect = Dialect::Postgres;
    let stored = |body: &mut SchemaText, side: &str| {
        let key = of_key(dialect, table, " AND ", |column| {
            format!("bobak_row.{column} = {side}.{column}")
        });
        body.own(&quote(dialect, table.name())).raw(&format!(" AS bobak_row WHERE {key}"));
    };
    body.raw(&format!(
        "IF pg_trigger_depth() > 1 THEN PERFORM set_config('bobak.nested', 'on', true); END IF; \
         IF {NESTED} THEN IF TG_OP = 'DELETE' THEN SELECT bobak_row.* INTO stored FROM "
    ));
    stored(body, "OLD");
    body.raw("; IF FOUND THEN NEW := stored; operation := 'UPDATE'; END IF; ELSE ");
    let moves = of_key(dialect, table, " OR ", |column| format!("OLD.{column} <> NEW.{column}"));
    body.raw(&format!("IF TG_OP = 'UPDATE' THEN IF {moves} THEN PERFORM 1 FROM "));
    stored(body, "OLD");
    // Another row has the key now, and was logged.
    body.raw("; IF FOUND THEN operation := 'INSERT'; END IF; END IF; END IF; ");
    body.raw("SELECT bobak_row.* INTO stored FROM ");
    stored(body, "NEW");
    body.raw(
        "; IF FOUND THEN NEW := stored; ELSIF operation = 'INSERT' THEN RETURN NULL; \
         ELSE operation := 'DELETE'; END IF; END IF; END IF; ",
    );
}
