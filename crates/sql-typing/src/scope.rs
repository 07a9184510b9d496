//! The names that an expression can refer to.

use crate::kind::ValueKind;

/// A column of a table, a view, a subquery or a result.
#[derive(Clone, Debug)]
pub(crate) struct ScopeColumn {
    pub name: String,
    pub kind: ValueKind,
    /// Whether `*` omits it.
    pub hidden: bool,
}

/// The columns of a source or result.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnList {
    pub list: Vec<ScopeColumn>,
    /// Whether there are others that are unknown, such as those of a table-valued function.
    pub open: bool,
}

impl ColumnList {
    /// ColumnList that are all unknown.
    pub(crate) const fn unknown() -> Self {
        Self { list: Vec::new(), open: true }
    }

    pub(crate) fn kinds(&self) -> Vec<ValueKind> {
        self.list.iter().map(|column| column.kind).collect()
    }

    pub(crate) fn find(&self, name: &str) -> Option<ValueKind> {
        let mut columns = self.list.iter();
        columns.find(|column| column.name.eq_ignore_ascii_case(name)).map(|column| column.kind)
    }
}

/// A table or subquery of a FROM clause.
#[derive(Clone, Debug)]
pub(crate) struct FromSource {
    /// The alias, or else the table's name.
    pub name: Option<String>,
    pub columns: ColumnList,
    /// The columns that it shares with sources before it, by USING or NATURAL.
    pub shared: Vec<String>,
}

/// The sources of one SELECT, and the aliases of its result columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameScope {
    pub sources: Vec<FromSource>,
    pub aliases: ColumnList,
}

impl NameScope {
    pub(crate) fn of(name: &str, columns: ColumnList) -> Self {
        let mut scope = Self::default();
        scope.add(Some(name.to_owned()), columns);
        scope
    }

    pub(crate) fn add(&mut self, name: Option<String>, columns: ColumnList) {
        self.sources.push(FromSource { name, columns, shared: Vec::new() });
    }

    /// The kind of a column. `None` if no source has it.
    fn find(&self, source: Option<&str>, name: &str) -> Option<ValueKind> {
        let named = |given: &FromSource| match (source, &given.name) {
            (None, _) => true,
            (Some(wanted), Some(name)) => name.eq_ignore_ascii_case(wanted),
            (Some(_), None) => false,
        };
        let mut sources = self.sources.iter().filter(|given| named(given));
        if let Some(kind) = sources.find_map(|given| given.columns.find(name)) {
            return Some(kind);
        }
        if source.is_none()
            && let Some(kind) = self.aliases.find(name)
        {
            return Some(kind);
        }
        let is_open = self.sources.iter().any(|given| named(given) && given.columns.open);
        let is_rowid = ["rowid", "oid", "_rowid_"].iter().any(|id| name.eq_ignore_ascii_case(id));
        (is_open || is_rowid && self.sources.iter().any(named)).then_some(ValueKind::Plain)
    }

    /// The columns that `*` or `source.*` stands for.
    pub(crate) fn star(&self, source: Option<&str>) -> ColumnList {
        let mut all = ColumnList::default();
        for given in &self.sources {
            let name = given.name.as_deref().unwrap_or_default();
            if source.is_some_and(|wanted| !name.eq_ignore_ascii_case(wanted)) {
                continue;
            }
            all.open |= given.columns.open;
            let is_shared = |column: &ScopeColumn| {
                let shared = given.shared.iter();
                source.is_none() && shared.clone().any(|s| s.eq_ignore_ascii_case(&column.name))
            };
            let shown = given.columns.list.iter().filter(|c| !c.hidden && !is_shared(c));
            all.list.extend(shown.cloned());
        }
        all
    }
}

/// Looks a name up from the innermost scope outwards.
pub(crate) fn resolve(scopes: &[NameScope], source: Option<&str>, name: &str) -> Option<ValueKind> {
    scopes.iter().rev().find_map(|scope| scope.find(source, name))
}
