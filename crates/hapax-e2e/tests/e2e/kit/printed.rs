//! `hapax print`, and the configurations in its output.

use std::path::{Path, PathBuf};

use hapax_testkit::{command_in, run};

fn deploy(file: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    root.join(file)
}

#[tokio::test]
async fn what_is_printed_is_the_file_in_deploy() {
    let folder = tempfile::tempdir().unwrap();
    for (document, file) in [
        ("systemd", "systemd/hapax.service"),
        ("grafana", "grafana/hapax.json"),
        ("alerts", "prometheus/rules.yml"),
        ("compose", "compose/compose.yml"),
        ("kubernetes", "kubernetes/hapax.yaml"),
    ] {
        let printed = run(folder.path(), &["print", document]).await;
        printed.assert_code(0);
        let kept = std::fs::read_to_string(deploy(file)).unwrap();
        assert!(
            printed.stdout == kept,
            "`hapax print {document}` is not deploy/{file}"
        );
    }
}

/// The literal block of YAML that begins at this line, without its indentation.
fn block(file: &str, begins: &str) -> String {
    let text = std::fs::read_to_string(deploy(file)).unwrap();
    let (_, text) = text.split_once(begins).unwrap();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let indent = lines[0].len() - lines[0].trim_start().len();
    let is_inside = |line: &&&str| line.is_empty() || line.starts_with(&" ".repeat(indent));
    let inside = lines.iter().take_while(is_inside);
    let inside: Vec<&str> = inside
        .map(|line| line.get(indent..).unwrap_or_default())
        .collect();
    inside.join("\n")
}

#[tokio::test]
async fn the_configurations_of_the_kit_pass_config_check() {
    for (file, begins) in [
        ("compose/compose.yml", "\n  hapax:\n    content: |"),
        ("kubernetes/hapax.yaml", "\n  hapax.toml: |"),
    ] {
        let text = block(file, begins);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("hapax.toml"), &text).unwrap();
        let mut command = command_in(folder.path());
        command
            .args(["config", "check"])
            .env("HAPAX_ADMIN_TOKEN", "0123456789abcdef0123456789abcdef")
            .env("HAPAX_STORE__URL", "postgres://hapax:secret@postgres:5432/hapax")
            .env("STRIPE_SECRET", "whsec_test_secret");
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{file}: {output:?}\n{text}");
        assert!(
            text.contains("[destinations.app]"),
            "the whole of it was checked: {text}"
        );
    }
}
