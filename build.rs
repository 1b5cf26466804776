//! Sets the linker flags that a Node addon needs, and compiles the process guard that is embedded in it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ruzstd::encoding::CompressionLevel;

fn main() {
    napi_build::setup();
    println!("cargo:rerun-if-changed=crates/guard/src");
    let Some(out) = env::var_os("OUT_DIR").map(|folder| PathBuf::from(folder).join("guard")) else { return };
    // Static where the C library can be linked so, for then it runs on any Linux. Where nothing can be linked, such as in a check for
    // another platform, the copy is empty, and whoever would need it is told so.
    let is_built = guard(&out, true) || guard(&out, false);
    let compressed = match fs::read(&out) {
        Ok(bytes) if is_built => ruzstd::encoding::compress_to_vec(&*bytes, CompressionLevel::Fastest),
        _ => {
            println!("cargo:warning=the process guard could not be compiled; the addon is built without it");
            Vec::new()
        }
    };
    fs::write(out.with_extension("zst"), compressed).expect("the folder of the build is writable");
}

/// Compiles the guard's sources: the standard library is all that they use, so that no Cargo is needed within this one.
fn guard(out: &Path, is_static: bool) -> bool {
    let variable = |name: &str| env::var_os(name).unwrap_or_default();
    let mut command = Command::new(variable("RUSTC"));
    command.args([
        "--edition=2024",
        "--crate-name=agent_lifecycle_guard",
        "--crate-type=bin",
        "--cap-lints=allow",
    ]);
    command.args(["-Copt-level=s", "-Cpanic=abort", "-Cstrip=symbols", "-Clto=fat", "-Ccodegen-units=1"]);
    command.arg("--target").arg(variable("TARGET"));
    let linker = variable("RUSTC_LINKER");
    if !linker.is_empty() {
        let mut option = OsString::from("-Clinker=");
        option.push(linker);
        command.arg(option);
    }
    if is_static {
        command.arg("-Ctarget-feature=+crt-static");
    }
    command.arg("-o").arg(out).arg("crates/guard/src/main.rs");
    // What a first attempt says is of no use where the second one succeeds.
    command.output().is_ok_and(|output| output.status.success())
}
