//! A followed folder: what appears, once.

use std::fs;
use std::path::{Path, PathBuf};

use super::Place;
use crate::follow::{FolderOptions, FollowedFolder};

fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

fn follow(place: &Place, depth: usize) -> FollowedFolder {
    FollowedFolder::new(place.path("root"), FolderOptions { depth, accepts: is_journal })
}

fn names(place: &Place, mut paths: Vec<PathBuf>) -> Vec<String> {
    paths.sort();
    let root = place.path("root");
    paths.iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn files_appear_once_and_again_after_they_were_gone() {
    let place = Place::new();
    let mut folder = follow(&place, 2);
    let mut entered = Vec::new();
    assert!(folder.poll(&mut |path| entered.push(path.to_owned())).is_empty());
    fs::create_dir_all(place.path("root/p/deep/deeper")).unwrap();
    for name in
        ["root/1.jsonl", "root/other", "root/p/2.jsonl", "root/p/deep/3.jsonl", "root/p/deep/deeper/4.jsonl"]
    {
        place.append(name, "");
    }
    let appeared = folder.poll(&mut |path| entered.push(path.to_owned()));
    assert_eq!(names(&place, appeared), ["1.jsonl", "p/2.jsonl", "p/deep/3.jsonl"]);
    assert_eq!(entered, ["root", "root/p", "root/p/deep"].map(|name| place.path(name)));
    assert!(folder.poll(&mut |_| ()).is_empty());
    fs::remove_file(place.path("root/p/2.jsonl")).unwrap();
    assert!(folder.poll(&mut |_| ()).is_empty());
    place.append("root/p/2.jsonl", "");
    assert_eq!(names(&place, folder.poll(&mut |_| ())), ["p/2.jsonl"]);
    fs::remove_dir_all(place.path("root")).unwrap();
    assert!(folder.poll(&mut |_| ()).is_empty());
    fs::create_dir_all(place.path("root")).unwrap();
    place.append("root/1.jsonl", "");
    assert_eq!(names(&place, folder.poll(&mut |_| ())), ["1.jsonl"]);
}

#[test]
fn one_path_is_looked_at_where_it_is_told() {
    let place = Place::new();
    fs::create_dir_all(place.path("root/p")).unwrap();
    let mut folder = follow(&place, 3);
    folder.poll(&mut |_| ());
    let mut notice = |name: &str| {
        let appeared = folder.notice(&place.path(name), &mut |_| ());
        names(&place, appeared)
    };
    place.append("root/p/1.jsonl", "");
    place.append("root/p/no", "");
    assert_eq!(notice("root/p/1.jsonl"), ["p/1.jsonl"]);
    assert!(notice("root/p/1.jsonl").is_empty());
    assert!(notice("root/p/no").is_empty());
    assert!(notice("elsewhere/1.jsonl").is_empty());
    // A folder comes with what is in it already.
    fs::create_dir_all(place.path("root/q/r")).unwrap();
    place.append("root/q/r/2.jsonl", "");
    assert_eq!(notice("root/q"), ["q/r/2.jsonl"]);
    fs::remove_dir_all(place.path("root/q")).unwrap();
    assert!(notice("root/q").is_empty());
    fs::create_dir_all(place.path("root/q/r")).unwrap();
    place.append("root/q/r/2.jsonl", "");
    assert_eq!(notice("root/q"), ["q/r/2.jsonl"]);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let place = Place::new();
    fs::create_dir_all(place.path("root")).unwrap();
    fs::create_dir_all(place.path("outside")).unwrap();
    place.append("outside/1.jsonl", "");
    std::os::unix::fs::symlink(place.path("outside"), place.path("root/link")).unwrap();
    std::os::unix::fs::symlink(place.path("outside/1.jsonl"), place.path("root/link.jsonl")).unwrap();
    assert!(follow(&place, 3).poll(&mut |_| ()).is_empty());
}
