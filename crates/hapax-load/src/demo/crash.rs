//! SIGKILL in the middle of the run, and a restart on the same files.

use tokio::sync::watch;

use crate::service::{Service, Site};
use hapax_terminal::progress::Progress;

/// The numbers of answers after which to kill: spread over the run, each at a random point of its share, and never
/// after the last answer.
pub(super) fn points(deliveries: usize, kills: usize) -> Vec<usize> {
    let share = deliveries as f64 / kills.max(1) as f64;
    (0..kills)
        .map(|kill| (share * (kill as f64 + 0.25 + fastrand::f64() * 0.5)) as usize)
        .collect()
}

/// Kills and restarts the service at each point. Returns the last service.
pub(super) async fn run(
    site: &Site,
    mut service: Service,
    points: Vec<usize>,
    mut answered: watch::Receiver<usize>,
    progress: &Progress,
) -> anyhow::Result<Service> {
    for point in points {
        // The senders outlive this, so the count is always reached.
        answered.wait_for(|answered| *answered >= point).await?;
        service.kill().await?;
        progress.say(format!(
            "killed the service (SIGKILL) after {point} answers; starting it again"
        ));
        service = site.start().await?;
    }
    Ok(service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_spread_and_each_comes_before_the_end() {
        for kills in [1, 2, 20] {
            let points = points(1000, kills);
            assert_eq!(points.len(), kills);
            assert!(points.is_sorted());
            assert!(points.iter().all(|point| (1..1000).contains(point)), "{points:?}");
        }
        assert!(points(1000, 0).is_empty());
    }
}
