//! The direction of dependencies between crates: each may use those above it in the member list, and none below.

use crate::rust::members::Member;

/// One line for each dependency that points down.
pub fn wrong_directions(members: &[Member]) -> Vec<String> {
    let position = |package: &str| members.iter().position(|member| member.package == package);
    let mut wrong = Vec::new();
    for (at, member) in members.iter().enumerate() {
        for dependency in &member.dependencies {
            if position(dependency).is_some_and(|other| other >= at) {
                wrong.push(format!(
                    "{} depends on {dependency}, which is below it in the member list of Cargo.toml",
                    member.package
                ));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_point_up_only() {
        let member = |package: &str, dependencies: &[&str]| Member {
            folder: String::new(),
            package: package.to_owned(),
            dependencies: dependencies.iter().map(ToString::to_string).collect(),
            features: Vec::new(),
            published: true,
        };
        let members = [member("a", &[]), member("b", &["a", "serde"]), member("c", &["b"])];
        assert!(wrong_directions(&members).is_empty());
        let members = [member("a", &["b"]), member("b", &[])];
        let wrong = wrong_directions(&members);
        assert!(wrong.len() == 1 && wrong[0].starts_with("a depends on b"), "{wrong:?}");
    }
}
