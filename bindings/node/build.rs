//! On macOS, the symbols of Node are resolved when the module is loaded.

fn main() {
    napi_build::setup();
}
