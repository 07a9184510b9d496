//! The access file: roles, users, tokens.

use crate::{Target, seeds};
use bobak_permissions::{Access, Policy};

/// Access files.
pub(crate) const ACCESS: Target = Target {
    name: "access",
    about: "the file of roles, users and tokens",
    longest: 32 << 10,
    factor: 400,
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let policy = Policy::parse(text);
        assert_eq!(
            policy.is_ok(),
            Access::from_text(text).is_ok(),
            "one reads it, the other does not"
        );
        if let Ok(policy) = policy {
            let _ = (policy.roles().count(), policy.users().count(), policy.tokens().count());
        }
    },
    seeds: || {
        let token = format!("sha256:{}", "0".repeat(64));
        let (_, hash) = bobak_permissions::new_token().unwrap_or_else(|_| (String::new(), token));
        let file = format!(
            "# who\nrole clerk\n  read, insert on orders where clerk = :user and not paid = true\n  \
             read, update(name), sql on shop.*, \"odd name\"\nrole boss\n  all on *\n\
             token till-1 {hash} roles clerk expires 2030-01-01T00:00:00Z set shop=7\n"
        );
        [vec![file.into_bytes()], seeds::of(&["user ada x roles admin", "role a\n read on *\n"])]
            .concat()
    },
};
