//! Sets the linker flags that a Node addon needs.

fn main() {
    napi_build::setup();
}
