//! Rewrites stages 1 and 2 of every fixture from its bytes.
//!
//! Input: the fixtures. Output: those two files, where they differ, and their names. Never: writes stages 3 and 4, which people
//! write and review; what the code makes of a fixture is no proof that it is right.

use std::fs;
use std::path::Path;

use agent_lifecycle_fixtures::Fixture;

/// Blesses the fixtures of the repository.
pub(crate) fn run() -> Result<(), String> {
    let written = bless(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures"))?;
    for file in &written {
        println!("wrote {file}");
    }
    println!("bless: {} files written", written.len());
    Ok(())
}

fn bless(fixtures: &Path) -> Result<Vec<String>, String> {
    let mut written = Vec::new();
    for fixture in Fixture::all(fixtures).map_err(|error| error.to_string())? {
        for (stage, text) in fixture.stages() {
            let path = fixture.folder.join(stage);
            if fs::read_to_string(&path).is_ok_and(|present| present == text) {
                continue;
            }
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            written.push(format!("{}/{stage}", fixture.name));
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::bless;

    fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
            .collect()
    }

    #[test]
    fn stages_1_and_2_are_rewritten_once_and_the_others_never() {
        let root = tempfile::tempdir().unwrap();
        let case = root.path().join("schema-v1/duplicates");
        fs::create_dir_all(&case).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/schema-v1/duplicates");
        fs::copy(source.join("0-bytes.jsonl"), case.join("0-bytes.jsonl")).unwrap();
        let by_hand = [("3-projection.json", "wrong"), ("4-display.txt", "wrong")];
        for (stage, text) in by_hand {
            fs::write(case.join(stage), text).unwrap();
        }
        fs::write(case.join("2-events.json"), "old").unwrap();
        let before = files(&case);
        assert_eq!(
            bless(root.path()).unwrap(),
            ["schema-v1/duplicates/1-records.json", "schema-v1/duplicates/2-events.json"]
        );
        let after = files(&case);
        assert_eq!(after.len(), 5);
        for kept in ["0-bytes.jsonl", "3-projection.json", "4-display.txt"] {
            assert_eq!(before[kept], after[kept], "{kept}");
        }
        assert_eq!(after["1-records.json"], fs::read(source.join("1-records.json")).unwrap());
        assert_eq!(bless(root.path()).unwrap(), [""; 0]);
        assert_eq!(files(&case), after);
        // Nor are they made where they are missing.
        for (stage, _) in by_hand {
            fs::remove_file(case.join(stage)).unwrap();
        }
        bless(root.path()).unwrap();
        assert_eq!(files(&case).len(), 3);
    }

    #[test]
    fn a_folder_of_no_provider_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("nobody/case")).unwrap();
        assert!(bless(root.path()).unwrap_err().contains("nobody"));
    }
}
