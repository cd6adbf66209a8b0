//! Pictures of the screen against what a test painted there: true colours at every depth, native size, small enough,
//! and what they are of stated with them. Rows B062, B064, B066, B070, B072 of the public reports, and their kind.
//! B068 (a Wayland session with XWayland) needs a compositor and is not run; such a server is recognised by its
//! extension and never asked for its root window.

use serde_json::json;

use crate::support::painter::{Look, Painter};
use crate::support::server::Server;
use crate::support::worker::{Answer, Worker};

const FIVE: [[u8; 3]; 5] = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [128, 128, 128], [255, 140, 40]];

fn near(got: image::Rgb<u8>, want: [u8; 3], within: u8) -> bool {
    got.0.iter().zip(want).all(|(a, b)| a.abs_diff(b) <= within)
}

#[tokio::test(flavor = "multi_thread")]
async fn colours_are_true_at_every_depth_and_nothing_is_transparent() {
    for (depth, within) in [(16, 8), (24, 0), (30, 2)] {
        let server = Server::start(&format!("800x600x{depth}"));
        let painter = Painter::open(server.name());
        let window = painter.window(&Look { rect: [0, 0, 800, 600], ground: [255, 255, 255], ..Look::default() });
        for (i, colour) in (0..).zip(FIVE) {
            painter.fill(window, [20 + 150 * i, 200, 140, 200], colour);
        }
        painter.fill(window, [0, 0, 800, 50], [0, 0, 0]);
        let worker = Worker::on(server.name()).await;
        let answer = worker.call("computer_screenshot", json!({})).await;
        let (mime, bytes) = answer.picture();
        assert_eq!(mime, "image/png");
        let picture = image::load_from_memory(&bytes).unwrap();
        assert!(!picture.color().has_alpha(), "depth {depth}");
        let picture = picture.to_rgb8();
        assert_eq!(picture.dimensions(), (800, 600));
        for (i, colour) in (0..).zip(FIVE) {
            let got = *picture.get_pixel(90 + 150 * i, 300);
            assert!(near(got, colour, within), "depth {depth}: {got:?} for {colour:?}");
        }
        assert_eq!((picture.get_pixel(400, 20).0, picture.get_pixel(400, 550).0), ([0; 3], [255; 3]), "depth {depth}");
    }
}

fn number(answer: &Answer, key: &str) -> i64 {
    answer.json[key].as_i64().unwrap_or_else(|| panic!("{key} in {}", answer.json))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_photo_stays_under_a_megabyte_and_says_how_it_was_scaled() {
    let server = Server::start("3840x2160x24");
    let painter = Painter::open(server.name());
    let window = painter.window(&Look { rect: [0, 0, 3840, 2160], ..Look::default() });
    painter.noise(window, 3840, 2160);
    let worker = Worker::on(server.name()).await;
    let answer = worker.call("computer_screenshot", json!({})).await;
    let (mime, bytes) = answer.picture();
    assert_eq!(mime, "image/jpeg");
    assert!(bytes.len().div_ceil(3) * 4 <= 700_000, "{} bytes", bytes.len());
    assert!(answer.text.len() < 2000, "base64 in the text too");
    let picture = image::load_from_memory(&bytes).unwrap();
    assert_eq!((i64::from(picture.width()), i64::from(picture.height())), (number(&answer, "width"), number(&answer, "height")));
    assert_eq!((number(&answer, "screen_width"), number(&answer, "screen_height")), (3840, 2160));
    let scale = answer.json["scale"].as_f64().unwrap();
    assert!((scale - f64::from(picture.width()) / 3840.0).abs() < 1e-4 && scale < 1.0, "{scale}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_a_monitor_or_a_window_is_cut_out_and_says_where_it_lies() {
    let server = Server::managed("1600x800x24");
    let painter = Painter::open(server.name());
    painter.monitors(&[[0, 0, 1000, 800], [1000, 0, 600, 800]], 1);
    let ground = painter.window(&Look { rect: [0, 0, 1600, 800], ground: [255, 255, 255], ..Look::default() });
    painter.fill(ground, [1000, 0, 600, 800], [20, 40, 210]);
    painter.window(&Look { rect: [300, 200, 400, 300], title: "Übung 漢字", ground: [0, 200, 60], ..Look::default() });
    let worker = Worker::on(server.name()).await;
    for (arguments, place, colour) in [
        (json!({"region": "310,210,50,40"}), [310, 210, 50, 40], [0, 200, 60]),
        (json!({"monitor": "PART-1"}), [1000, 0, 600, 800], [20, 40, 210]),
        (json!({"monitor": "primary"}), [1000, 0, 600, 800], [20, 40, 210]),
        (json!({"region": "1590,790,100,100"}), [1590, 790, 10, 10], [20, 40, 210]),
    ] {
        let answer = worker.call("computer_screenshot", arguments.clone()).await;
        let picture = image::load_from_memory(&answer.picture().1).unwrap().to_rgb8();
        let got = ["origin_x", "origin_y", "width", "height"].map(|key| number(&answer, key));
        assert_eq!(got, place, "{arguments}");
        assert_eq!(picture.dimensions(), (place[2] as u32, place[3] as u32));
        assert!(picture.pixels().all(|p| p.0 == colour), "{arguments}");
    }
    for (arguments, word) in [
        (json!({"region": "2000,0,10,10"}), "1600x800"),
        (json!({"region": "1,2,3"}), "x,y,w,h"),
        (json!({"monitor": "7"}), "PART-1"),
        (json!({"window": "no such window"}), "no such window"),
        (json!({"region": "0,0,9,9", "monitor": "0"}), "exclude"),
    ] {
        let answer = worker.call("computer_screenshot", arguments.clone()).await;
        assert!(!answer.ok && answer.text.contains(word), "{arguments}: {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_asked_size_and_format_are_kept_and_the_browser_family_sees_the_same() {
    let server = Server::start("1000x500x24");
    let worker = Worker::on(server.name()).await;
    let answer = worker.call("computer_screenshot", json!({"max_edge": 200, "format": "jpeg", "quality": 40})).await;
    let (mime, bytes) = answer.picture();
    let picture = image::load_from_memory(&bytes).unwrap();
    assert_eq!((mime.as_str(), picture.width(), picture.height()), ("image/jpeg", 200, 100));
    let answer = worker.call("browser_gui_screenshot", json!({})).await;
    let keys = ["screen_width", "screen_height", "image_width", "image_height"].map(|key| number(&answer, key));
    assert_eq!(keys, [1000, 500, 1000, 500]);
    assert_eq!(image::load_from_memory(&answer.picture().1).unwrap().width(), 1000);
}
