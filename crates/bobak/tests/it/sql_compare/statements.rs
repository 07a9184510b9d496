//! Random statements.

/// Random statements in what all dialects share.
pub struct Statements {
    seed: u64,
    next_id: i64,
    /// Whether the current statement means the same on a server that runs it alone.
    is_portable: bool,
}

/// What a statement does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    Query,
    Change,
}

pub struct Statement {
    pub sql: String,
    pub kind: StatementKind,
    /// Whether it means the same on a server that runs it alone: see docs/sql.md.
    pub is_portable: bool,
}

impl Statements {
    pub fn new(seed: u64) -> Self {
        Self { seed, next_id: 100, is_portable: true }
    }

    pub fn next(&mut self) -> Statement {
        self.is_portable = true;
        let (sql, kind) = match self.below(8) {
            0 => (self.change(), StatementKind::Change),
            1 => (self.wrong(), StatementKind::Query),
            _ => (self.query(), StatementKind::Query),
        };
        Statement { sql, kind, is_portable: self.is_portable }
    }

    /// Text that only SQLite, and what it runs for others, has.
    fn own(&mut self, sql: &str) -> String {
        self.is_portable = false;
        sql.to_owned()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.seed >> 33) % end
    }

    fn pick(&mut self, from: &[&str]) -> String {
        from[self.below(from.len() as u64) as usize].to_owned()
    }

    fn amount(&mut self, depth: u64) -> String {
        let literal = self.pick(&["5", "0.5", "-1.25", "0", "3.7035", "10"]);
        if depth > 2 {
            // Not a literal alone: a sum of such is a float on SQLite, and exact on servers.
            return self.pick(&["e.total", "e.total", "abs(e.total)"]);
        }
        let inner = self.amount(depth + 1);
        match self.below(9) {
            0 => format!("({inner} + {literal})"),
            1 => format!("(e.total - {inner})"),
            2 => format!("({inner} * {})", self.pick(&["2", "3", "e.quantity"])),
            3 => format!("abs({inner})"),
            4 => format!("coalesce(e.total, {literal})"),
            5 => format!("CASE WHEN {} THEN e.total ELSE {literal} END", self.condition(depth + 1)),
            6 => format!("nullif(e.total, {literal})"),
            7 => "(SELECT s.least FROM store AS s WHERE s.code = e.shop)".to_owned(),
            _ => "e.total".to_owned(),
        }
    }

    /// A column of a date or time and a literal of it.
    fn moment(&mut self) -> (&'static str, String) {
        match self.below(4) {
            0 => ("e.due", self.pick(&["'2012-12-26'", "'2013-01-01'"])),
            1 => ("e.clock", self.pick(&["'11:30:00'", "'12:30:00'"])),
            2 => ("e.noted", self.pick(&["'2012-12-26'", "'2012-12-27 11:00:00.5'"])),
            _ => ("e.placed", self.pick(&["'2012-12-26'", "'2012-12-27 11:00:00.5'"])),
        }
    }

    fn condition(&mut self, depth: u64) -> String {
        let compare = self.pick(&["=", "<", "<=", ">", ">=", "<>"]);
        match self.below(if depth > 1 { 8 } else { 16 }) {
            0 => format!("{} {compare} {}", self.amount(depth + 2), self.amount(depth + 2)),
            1 => format!("e.total {compare} 2.469"),
            2 => "e.total IN (1.2345, 2.469, -0.7655)".to_owned(),
            3 | 4 => {
                let (column, literal) = self.moment();
                format!("{column} {compare} {literal}")
            }
            5 => self.pick(&[
                "e.token IS NOT NULL",
                "e.token = CAST('02020202-0202-0202-0202-020202020202' AS UUID)",
            ]),
            6 => format!("{} IS {}NULL", self.moment().0, self.pick(&["", "NOT "])),
            7 => format!("e.quantity {compare} {}", self.below(4)),
            8 => format!("NOT ({})", self.condition(depth + 1)),
            9 => "EXISTS (SELECT 1 FROM store AS s WHERE s.code = e.shop AND s.least < e.total)"
                .into(),
            10 => format!("(e.due < e.placed OR {})", self.condition(depth + 1)),
            11 => self.text_condition(),
            12 => self.word_condition(&compare),
            13 => format!(
                "e.big {compare} {}",
                self.pick(&["9007199254740993", "-1", "9223372036854775807"])
            ),
            14 => match self.below(5) {
                0 => self.own("e.token = '02020202-0202-0202-0202-020202020202'"),
                1 => self.own("e.name = 'ADA'"),
                // Servers reject integers of more than 64 bits, and some a division by 0.
                2 => self.own("e.big + e.quantity > 0"),
                3 => self.own("(e.big * 4) % e.quantity IS NULL"),
                _ => self.own("e.name IN ('ada', 'Bob') AND e.shop LIKE 'A%'"),
            },
            _ => format!("({} AND {})", self.condition(depth + 1), self.condition(depth + 1)),
        }
    }

    fn text_condition(&mut self) -> String {
        self.pick(&[
            "lower(e.shop) LIKE 'a%'",
            "e.remark LIKE '%5!%%' ESCAPE '!'",
            "e.remark NOT LIKE '_!_%' ESCAPE '!'",
            "e.remark > 'é'",
            "substr(e.remark, 1, 1) = 'x'",
            "e.shop || '-' = 'a-'",
        ])
    }

    /// A condition in words of the shared vocabulary.
    fn word_condition(&mut self, compare: &str) -> String {
        match self.below(8) {
            0 => format!("date_part('day', e.due) {compare} 27"),
            1 => format!("date_part('hour', e.clock) {compare} 11"),
            2 => format!("date_part('isodow', e.placed) {compare} 3"),
            3 => format!("strftime('%m-%d', e.noted) {compare} '12-27'"),
            4 => format!("date_trunc('hour', e.placed) {compare} '2012-12-27 11:00:00'"),
            5 => "e.placed < now()".to_owned(),
            6 => format!("json_value(e.note, '$.a') {compare} 'x'"),
            _ => format!("e.due {compare} CAST('2012-12-27' AS DATE)"),
        }
    }

    /// A value in words of the shared vocabulary.
    fn word(&mut self) -> String {
        let moment = self.pick(&["e.due", "e.noted", "e.placed"]);
        match self.below(9) {
            0 => {
                let part = self.pick(&[
                    "year", "quarter", "month", "week", "isoyear", "day", "dow", "isodow", "doy",
                    "epoch",
                ]);
                format!("date_part('{part}', {moment})")
            }
            1 => {
                let part = self.pick(&["hour", "minute", "second"]);
                format!("date_part('{part}', {})", self.pick(&["e.clock", "e.noted", "e.placed"]))
            }
            2 => {
                let unit = self
                    .pick(&["year", "quarter", "month", "week", "day", "hour", "minute", "second"]);
                format!("date_trunc('{unit}', {moment})")
            }
            3 => {
                let format = self
                    .pick(&["%Y-%m", "%d.%m.%Y", "%F %T", "%G-W%V", "%H:%M:%S", "%j%%", "%I %p"]);
                format!("strftime('{format}', {moment})")
            }
            4 => {
                let path = self.pick(&["$.a", "$.b[0]", "$.b[1].c", "$.t", "$.b"]);
                format!("json_value(e.note, '{path}')")
            }
            5 => "e.shop || '/' || json_value(e.note, '$.a')".to_owned(),
            6 => "CAST(e.total AS TEXT)".to_owned(),
            7 => "substr(e.remark, 1, 3)".to_owned(),
            _ => self.pick(&[
                "e.big",
                "CAST(e.placed AS DATE)",
                "CAST('2012-12-27T00:00:00+01:00' AS TIMESTAMP)",
            ]),
        }
    }

    fn query(&mut self) -> String {
        let (condition, amount) = (self.condition(0), self.amount(0));
        let moment = self.moment().0;
        let word = self.word();
        match self.below(9) {
            6 => format!(
                "SELECT e.id, {word} AS x, {} AS y FROM entry AS e WHERE {condition} ORDER BY e.id",
                self.word()
            ),
            7 => {
                let words = [
                    "strftime('%Y-%m-%d', e.placed)",
                    "date_trunc('day', e.noted)",
                    "json_value(e.note, '$.a')",
                ];
                let word = self.pick(&words);
                format!(
                    "SELECT {word} AS x, count(*), sum({amount}) FROM entry AS e WHERE {word} IS NOT NULL AND {condition} \
                     GROUP BY {word} ORDER BY x"
                )
            }
            8 if self.below(4) == 0 => {
                let sql = "SELECT e.name, count(*), max(e.remark) FROM entry AS e GROUP BY e.name ORDER BY e.name";
                self.own(sql)
            }
            8 => format!(
                "SELECT e.id, e.remark, s.code FROM entry AS e LEFT JOIN store AS s ON s.code = e.shop \
                 WHERE {condition} AND e.id < 5 ORDER BY e.remark DESC, e.id"
            ),
            0 => format!(
                "SELECT e.id, {amount} AS x, {moment}, e.token FROM entry AS e WHERE {condition} ORDER BY e.id"
            ),
            1 => format!(
                "SELECT e.shop, count(*), sum({amount}), min({moment}), max(e.total) FROM entry AS e \
                 WHERE {condition} GROUP BY e.shop HAVING count(*) > 1 ORDER BY e.shop"
            ),
            2 => format!(
                "SELECT e.id, s.least + e.total, s.since FROM entry AS e JOIN store AS s ON s.code = e.shop \
                 AND e.total > s.least WHERE {condition} ORDER BY e.id"
            ),
            3 => format!(
                "SELECT e.id, sum(e.total) OVER (PARTITION BY e.shop ORDER BY e.id), lag({moment}) OVER (ORDER BY e.id) \
                 FROM entry AS e WHERE {condition} ORDER BY e.id"
            ),
            4 => format!(
                "SELECT e.id, e.total FROM entry AS e WHERE {condition} UNION ALL SELECT 99, 7.5 ORDER BY 1"
            ),
            _ => format!(
                "WITH c AS (SELECT e.id, e.shop, {amount} AS x, {moment} AS m FROM entry AS e WHERE {condition}) \
                 SELECT c.id, c.x + 1, c.m FROM c LEFT JOIN store AS s ON s.code = c.shop AND c.x > s.least ORDER BY c.id"
            ),
        }
    }

    /// What SQLite rejects, since it would compare values of types that have no common meaning.
    fn wrong(&mut self) -> String {
        let condition = self.pick(&[
            "total > 'x'",
            "due = 5",
            "due = 'soon'",
            "placed > 1.5",
            "clock < 3",
            "total = due",
            "token = 'short'",
            "total > 0.00001",
            "due + 1 > '2013-01-01'",
        ]);
        format!("SELECT id FROM entry WHERE {condition}")
    }

    fn change(&mut self) -> String {
        // One table, not an alias: UPDATE and DELETE have none on some servers.
        let condition = self.condition(1).replace("e.", "entry.");
        match self.below(5) {
            4 => {
                let change = self.pick(&[
                    "placed = date_trunc('day', placed)",
                    "remark = shop || strftime('%Y', placed)",
                    "quantity = date_part('day', due)",
                    "remark = json_value(note, '$.a')",
                ]);
                format!(
                    "UPDATE entry SET {change} WHERE placed IS NOT NULL AND due IS NOT NULL \
                         AND json_value(note, '$.a') IS NOT NULL AND {condition}"
                )
            }
            0 => {
                self.next_id += 1;
                let (total, due) =
                    (self.pick(&["1.5", "-2", "NULL"]), self.pick(&["'2012-12-29'", "NULL"]));
                format!(
                    "INSERT INTO entry (id, shop, name, remark, big, total, due, clock, noted, placed, token, quantity) VALUES \
                     ({}, 'b', 'bob', '100% ', {}, {total}, {due}, '11:30:00.25', '2012-12-27', '2012-12-27 11:00:00', \
                      CAST('03030303-0303-0303-0303-030303030303' AS UUID), 1)",
                    self.next_id,
                    self.next_id - (1 << 62),
                )
            }
            1 => format!(
                "UPDATE entry SET total = total + 1.5, due = '2012-12-26' WHERE {condition}"
            ),
            2 => format!(
                "UPDATE entry SET placed = noted, clock = '10:00:00', quantity = 2 WHERE {condition}"
            ),
            _ => format!("DELETE FROM entry WHERE id > 12 AND {condition}"),
        }
    }
}
