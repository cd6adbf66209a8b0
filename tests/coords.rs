//! One coordinate space: what a picture shows at a pixel is what a click there hits, whatever the scale, the monitors and
//! the size of the picture. Rows B048, B050, B056, B058, B060 of the public reports, and their kind. B054 (Windows at
//! 125 %) is not run here: the engine reports and takes physical pixels there too. The witness is the painted window.

use serde_json::json;

use crate::support::painter::{Look, Painter};
use crate::support::server::Server;
use crate::support::worker::Worker;

/// Nine places, nine colours.
fn targets() -> Vec<([i32; 4], [u8; 3])> {
    (0..9_i32).map(|i| ([150 + 780 * (i % 3), 120 + 400 * (i / 3), 36, 28], [20 * i as u8, 200, 60 + 20 * i as u8])).collect()
}

/// The middle of what has this colour in the picture.
fn middle(picture: &image::RgbImage, colour: [u8; 3]) -> (i64, i64) {
    let places: Vec<_> =
        picture.enumerate_pixels().filter(|(_, _, p)| p.0 == colour).map(|(x, y, _)| (i64::from(x), i64::from(y))).collect();
    assert!(!places.is_empty(), "{colour:?} is not in the picture");
    let count = places.len() as i64;
    (places.iter().map(|p| p.0).sum::<i64>() / count, places.iter().map(|p| p.1).sum::<i64>() / count)
}

#[tokio::test(flavor = "multi_thread")]
async fn nine_targets_read_from_the_picture_are_hit_at_every_scale() {
    let server = Server::start("1920x1080x24");
    let painter = Painter::open(server.name());
    let window = painter.window(&Look { rect: [0, 0, 1920, 1080], ground: [255, 255, 255], ..Look::default() });
    for (rect, colour) in targets() {
        painter.fill(window, rect, colour);
    }
    let worker = Worker::on(server.name()).await;
    for scale in [1.0, 1.25, 1.5, 2.0] {
        painter.scale(scale);
        let size = worker.call("computer_screen_size", json!({})).await;
        assert_eq!((size.json["width"].as_i64(), size.json["height"].as_i64()), (Some(1920), Some(1080)));
        assert_eq!(size.json["monitors"][0]["scale"].as_f64(), Some(scale));
        let picture = worker.call("computer_screenshot", json!({})).await.picture().1;
        let picture = image::load_from_memory(&picture).unwrap().to_rgb8();
        for ([x, y, width, height], colour) in targets() {
            let (px, py) = middle(&picture, colour);
            let answer = worker.call("computer_mouse_click", json!({"x": px, "y": py})).await;
            assert!(answer.ok, "{}", answer.text);
            let (_, hx, hy) = painter.press(window).expect("the press arrives");
            assert!((x..x + width).contains(&hx) && (y..y + height).contains(&hy), "scale {scale}: {hx},{hy}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pixel_of_a_smaller_or_cut_picture_is_found_by_its_frame() {
    let server = Server::start("1920x1080x24");
    let painter = Painter::open(server.name());
    let window = painter.window(&Look { rect: [0, 0, 1920, 1080], ground: [255, 255, 255], ..Look::default() });
    painter.fill(window, [1500, 900, 60, 40], [0, 0, 0]);
    let worker = Worker::on(server.name()).await;
    for (arguments, at) in [(json!({"max_edge": 480}), (382, 230)), (json!({"region": "1400,800,400,200"}), (130, 120))] {
        let answer = worker.call("computer_screenshot", arguments.clone()).await;
        let click = json!({"x": at.0, "y": at.1, "frame": answer.json["frame"]});
        let clicked = worker.call("computer_mouse_click", click).await;
        assert!(clicked.ok, "{}", clicked.text);
        let (_, x, y) = painter.press(window).expect("the press arrives");
        assert!((1500..1560).contains(&x) && (900..940).contains(&y), "{arguments}: {x},{y}");
    }
    let outside = worker.call("computer_mouse_click", json!({"x": 5, "y": 5, "frame": "f999"})).await;
    assert_eq!((outside.ok, outside.json["error"].as_str()), (false, Some("look_again")));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_change_of_the_display_the_caller_has_to_look_again() {
    let server = Server::start("1600x800x24");
    let painter = Painter::open(server.name());
    let worker = Worker::on(server.name()).await;
    let moving = || worker.call("computer_mouse_move", json!({"x": 5, "y": 6}));
    assert!(moving().await.ok, "who never looked is not held back");
    assert!(worker.call("computer_screenshot", json!({})).await.ok);
    painter.monitors(&[[0, 0, 800, 800], [800, 0, 800, 800]], 0);
    let answer = moving().await;
    assert_eq!((answer.ok, answer.json["error"].as_str()), (false, Some("look_again")), "{}", answer.text);
    assert!(worker.call("computer_screenshot", json!({})).await.ok);
    assert!(moving().await.ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_monitors_are_one_space_whichever_is_the_main_one() {
    let server = Server::start("4080x1920x24");
    let painter = Painter::open(server.name());
    painter.monitors(&[[0, 0, 1080, 1920], [1080, 0, 1080, 1920], [2160, 0, 1920, 1080]], 2);
    let worker = Worker::on(server.name()).await;
    let size = worker.call("computer_screen_size", json!({})).await;
    assert_eq!((size.json["width"].as_i64(), size.json["height"].as_i64()), (Some(4080), Some(1920)));
    let monitors = size.json["monitors"].as_array().unwrap();
    let primary: Vec<_> = monitors.iter().filter(|m| m["primary"] == true).map(|m| m["x"].as_i64()).collect();
    assert_eq!((monitors.len(), primary), (3, vec![Some(2160)]));
    for (x, y) in [(100, 100), (1079, 1000), (1500, 1900), (4079, 500), (10, 1919), (0, 0)] {
        let answer = worker.call("computer_mouse_move", json!({"x": x, "y": y})).await;
        assert!(answer.ok, "{}", answer.text);
        assert_eq!(painter.pointer(), (x, y));
    }
}
