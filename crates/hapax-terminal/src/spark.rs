//! A series of counts as a line of block characters: its shape, not its values.

/// Widest line that is drawn.
const WIDTH_MAX: usize = 48;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws the line. Counts that share a column are added; a count above zero is always visible.
pub fn line(counts: &[u64]) -> String {
    let share = counts.len().div_ceil(WIDTH_MAX).max(1);
    let sums: Vec<u64> = counts.chunks(share).map(|part| part.iter().sum()).collect();
    let most = sums.iter().copied().max().unwrap_or_default();
    sums.into_iter().map(|sum| block(sum, most)).collect()
}

fn block(sum: u64, most: u64) -> char {
    if sum == 0 {
        return '·';
    }
    let step = (sum as f64 / most as f64 * BLOCKS.len() as f64).ceil() as usize;
    BLOCKS[step.clamp(1, BLOCKS.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_nothing_little_and_the_most() {
        assert_eq!(line(&[0, 1, 4, 8, 1_000_000]), "·▁▁▁█");
        assert_eq!(line(&[0, 1, 2, 4, 8]), "·▁▂▄█");
        assert_eq!(line(&[]), "");
    }

    #[test]
    fn a_long_series_still_fits_and_loses_nothing() {
        let mut counts = vec![0; 168];
        counts[167] = 1;
        let line = line(&counts);
        assert!(line.chars().count() <= WIDTH_MAX, "{line}");
        assert!(line.ends_with('█'), "{line}");
    }
}
