//! The crates of the workspace, in the order of the member list in Cargo.toml.

use crate::failure::{Failure, Outcome};
use crate::tree::Tree;

/// One crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The folder, from the root of the repository.
    pub folder: String,
    /// The package's name.
    pub package: String,
    /// The packages of the workspace that it depends on, tests and build scripts aside.
    pub dependencies: Vec<String>,
    /// The features that it declares, without the default.
    pub features: Vec<String>,
    /// Whether it is published.
    pub published: bool,
}

/// Reads the member list, and the manifest of each member.
///
/// # Errors
/// If a manifest cannot be read.
pub fn read(tree: &Tree) -> Outcome<Vec<Member>> {
    let manifest = tree.read("Cargo.toml")?;
    let list = manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once("\n]"));
    let Some((list, _)) = list else {
        return Err(Failure::new("Cargo.toml has no list of members", "write `members = [` … `]`"));
    };
    let folders = list.lines().filter_map(|line| line.trim().strip_prefix('"')?.split('"').next());
    folders
        .map(|folder| read_manifest(folder, &tree.read(&format!("{folder}/Cargo.toml"))?))
        .collect()
}

/// Reads the few keys that matter here, one a line, as every manifest of this workspace writes them.
fn read_manifest(folder: &str, manifest: &str) -> Outcome<Member> {
    let mut section = "";
    let mut package = None;
    let mut dependencies = Vec::new();
    let mut features = Vec::new();
    let mut published = true;
    for line in manifest.lines().filter(|line| !line.starts_with('#')) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
        } else if let Some((key, value)) = line.split_once('=') {
            let key = key.trim().trim_end_matches(".workspace");
            match (section, key) {
                ("package", "name") => package = Some(value.trim().trim_matches('"').to_owned()),
                ("package", "publish") => published = value.trim() != "false",
                ("features", name) if name != "default" => features.push(name.to_owned()),
                _ if is_normal(section) && (key == "bobak" || key.starts_with("bobak-")) => {
                    dependencies.push(key.to_owned());
                }
                _ => {}
            }
        }
    }
    let unnamed = || Failure::new(format!("{folder}/Cargo.toml has no name"), "add `name = …`");
    let package = package.ok_or_else(unnamed)?;
    Ok(Member { folder: folder.to_owned(), package, dependencies, features, published })
}

fn is_normal(section: &str) -> bool {
    section == "dependencies"
        || section.starts_with("target.") && section.ends_with(".dependencies")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_line_by_line() {
        let manifest = "[package]\nname = \"bobak-x\"\npublish = false\n\n[dependencies]\nbobak-a.workspace = true\n\
                        serde = \"1\"\n[target.'cfg(unix)'.dependencies]\nbobak-b = { path = \"..\" }\n\
                        [dev-dependencies]\nbobak-c.workspace = true\n[features]\n# As `x = \"y\"`.\ndefault = []\ntls = []\n";
        let member = read_manifest("x", manifest).unwrap();
        assert_eq!(member.package, "bobak-x");
        assert_eq!(member.dependencies, ["bobak-a", "bobak-b"]);
        assert_eq!(member.features, ["tls"]);
        assert!(!member.published);
    }
}
