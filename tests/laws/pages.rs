//! The generated pages say what the declarations say. The gateway embeds one of them, so drift would be a lie to agents.

use super::{printed, root};

#[test]
fn the_generated_pages_are_what_the_binary_prints() {
    for (format, page) in [("md", "crates/tools/TOOLS.md"), ("json", "crates/tools/tools.json")] {
        let committed = std::fs::read_to_string(root().join(page)).unwrap();
        let printed = printed(format);
        let line = committed.lines().zip(printed.lines()).position(|(a, b)| a != b);
        assert!(committed == printed, "{page} differs from the declarations, first at line {line:?}; run `make tools` and commit it");
    }
}
