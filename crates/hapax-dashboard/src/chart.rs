//! Stacked bar charts over time, as SVG. A table next to each chart shows the same data, for accessibility.

use std::fmt::Write as _;

use maud::{Markup, html};

use hapax_api::readable;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 110.0;
/// Minimum height of a bar that is not zero.
const BAR_MIN: f64 = 1.5;

/// One series of a chart.
pub(crate) struct Layer<'a> {
    /// Its name in the legend, also its CSS class.
    pub name: &'static str,
    /// A value for each slot.
    pub counts: &'a [u64],
}

/// The bars, with the first layer at the bottom.
pub(crate) fn bars(label: &str, span: &str, layers: &[Layer<'_>]) -> Markup {
    let top = highest(layers);
    let view = format!("0 0 {WIDTH} {HEIGHT}");
    html! {
        svg class="chart" viewBox=(view) role="img" aria-label=(label) {
            line class="axis" x1="0" x2=(WIDTH) y1=(HEIGHT) y2=(HEIGHT) {}
            @for (place, layer) in layers.iter().enumerate() {
                path class=(layer.name) d=(outline(layers, place, top)) {}
            }
        }
        // Outside of the SVG, so that the labels keep their size when it shrinks.
        div class="chart-foot muted small" aria-hidden="true" {
            span { (span) " ago" }
            span { "peak: " (readable::count(top)) }
            span { "now" }
        }
    }
}

/// The colours and their meanings.
pub(crate) fn legend(names: &[&str]) -> Markup {
    html! {
        ul class="legend" aria-hidden="true" {
            @for name in names {
                li {
                    svg class="chart swatch" viewBox="0 0 10 10" { rect class=(name) width="10" height="10" {} }
                    " " (name)
                }
            }
        }
    }
}

fn highest(layers: &[Layer<'_>]) -> u64 {
    let slots = layers.iter().map(|layer| layer.counts.len()).max().unwrap_or(0);
    (0..slots)
        .map(|slot| below(layers, layers.len(), slot))
        .max()
        .unwrap_or(0)
}

/// The sum of the first `count` layers in a slot.
fn below(layers: &[Layer<'_>], count: usize, slot: usize) -> u64 {
    let counts = layers.iter().take(count).map(|layer| layer.counts.get(slot));
    counts.map(|count| count.copied().unwrap_or(0)).sum()
}

/// All bars of one layer as one path, so that a page stays small with any number of slots.
fn outline(layers: &[Layer<'_>], place: usize, top: u64) -> String {
    let Some(layer) = layers.get(place).filter(|_| top > 0) else {
        return String::new();
    };
    let scale = HEIGHT / top as f64;
    let step = WIDTH / layer.counts.len().max(1) as f64;
    let mut path = String::new();
    for (slot, count) in layer.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let height = (*count as f64 * scale).max(BAR_MIN);
        let foot = HEIGHT - below(layers, place, slot) as f64 * scale;
        let (left, width) = (slot as f64 * step, (step - 0.8).max(0.5));
        // Writing to a String cannot fail.
        let _ = write!(
            path,
            "M{left:.1} {:.1}h{width:.1}v{height:.1}h-{width:.1}z",
            foot - height
        );
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_stand_on_each_other_and_the_highest_slot_fills_the_chart() {
        let layers = [
            Layer {
                name: "accepted",
                counts: &[1, 3],
            },
            Layer {
                name: "rejected",
                counts: &[0, 1],
            },
        ];
        assert_eq!(highest(&layers), 4);
        assert_eq!(
            outline(&layers, 0, 4),
            "M0.0 82.5h299.2v27.5h-299.2zM300.0 27.5h299.2v82.5h-299.2z"
        );
        assert_eq!(outline(&layers, 1, 4), "M300.0 0.0h299.2v27.5h-299.2z");
    }

    #[test]
    fn nothing_is_an_empty_chart() {
        let text = bars(
            "none",
            "1h",
            &[Layer {
                name: "accepted",
                counts: &[0, 0],
            }],
        )
        .into_string();
        assert!(text.contains("d=\"\""), "{text}");
    }
}
