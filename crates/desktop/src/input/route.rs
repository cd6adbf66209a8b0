//! The way of a drag.
//!
//! Toolkits take a press for a drag once the pointer has left a small circle (3 to 8 pixels), and some accept a drop only
//! after two moves over the target. So the way has several steps, and its last ones are close to the end.

use super::backend::Point;

/// Steps between start and end, and the last places, which are shown for a frame each. The end is the last of them.
pub(super) fn drag(from: Point, to: Point) -> (Vec<Point>, Vec<Point>) {
    let (dx, dy) = (i64::from(to.x) - i64::from(from.x), i64::from(to.y) - i64::from(from.y));
    let length = dx.abs().max(dy.abs());
    let at = |done: i64| {
        let part = |start: i32, d: i64| start + i32::try_from(d * done / length.max(1)).unwrap_or(0);
        Point::new(part(from.x, dx), part(from.y, dy))
    };
    // The last two pixels, or as many as there are.
    let close = (length - 2).max(0);
    let steps = (length / 16).clamp(2, 14);
    let mut approach: Vec<Point> = (1..=steps).map(|i| at(close * i / steps)).filter(|p| *p != from).collect();
    approach.dedup();
    let mut arrival: Vec<Point> = [length - 1, length].into_iter().map(at).filter(|p| *p != from).collect();
    arrival.dedup();
    (approach, arrival)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_way_has_steps_past_any_threshold_and_two_moves_at_the_end() {
        let (approach, arrival) = drag(Point::new(100, 100), Point::new(500, 40));
        assert!(approach.len() >= 10);
        assert_eq!(arrival.len(), 2);
        assert_eq!(arrival[1], Point::new(500, 40));
        assert!((arrival[0].x - 500).abs() <= 1);
        assert!(approach.windows(2).all(|w| w[0].x < w[1].x));
    }

    #[test]
    fn three_pixels_are_still_moves() {
        let (approach, arrival) = drag(Point::new(10, 10), Point::new(13, 10));
        let all: Vec<i32> = approach.iter().chain(&arrival).map(|p| p.x).collect();
        assert_eq!(all, [11, 12, 13]);
        let (approach, arrival) = drag(Point::new(10, 10), Point::new(9, 10));
        assert_eq!(approach.len() + arrival.len(), 1);
        assert_eq!(arrival, [Point::new(9, 10)]);
    }
}
