//! Tests of the macros on one setting of each type.

use super::*;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    Red,
    Green,
}

crate::choices!(Colour: "red" => Red, "green" => Green);

crate::settings! {
    /// One setting of each type.
    #[derive(Clone)]
    struct All with pub(self) settings {
        /// A number.
        number: u8 = 3, min = 2, max = 9;
        /// A number
        /// of bytes.
        ///
        /// More about it.
        bytes: Option<u64> = None, unit = "bytes", default_text = "all";
        /// A duration.
        time: Duration = Duration::from_secs(1), key = "wait";
        /// A duration, or none.
        limit: Option<Duration> = Some(Duration::from_secs(1));
        /// A switch.
        switch: bool = false;
        /// A word.
        colour: Colour = Colour::Red;
        /// A text.
        text: String = "a".to_owned();
        /// A text, or none.
        name: Option<String> = None, secret = true;
        /// A file.
        file: PathBuf = PathBuf::new(), unit = "a file";
        /// A file, or none.
        other: Option<PathBuf> = None, unit = "a file";
        /// A list.
        list: Vec<String> = Vec::new();
    } and {
        rest: u8,
    }
}

#[test]
fn builder_and_url_set_the_same() {
    let mut all = All { rest: 5, ..All::default() };
    all.set_query(
        "number=4&bytes=7&wait=20&limit=0&switch=ON&colour=Green&text=b%20c&name=d&file=e&other=f&list=g,h",
    )
    .unwrap();
    let built = All { rest: 5, ..All::default() }
        .number(4)
        .bytes(7)
        .time(Duration::from_millis(20))
        .limit(None)
        .switch(true)
        .colour(Colour::Green)
        .text("b c")
        .name("d")
        .file("e")
        .other("f")
        .list(vec!["g".to_owned(), "h".to_owned()]);
    assert_eq!(format!("{all:?}"), format!("{built:?}"));
    assert_eq!((built.name.as_deref(), built.bytes, built.limit), (Some("d"), Some(7), None));
    assert!(!format!("{built:?}").contains("\"d\""), "{built:?}");
    assert_eq!((All::default().number(0).number, All::default().number(10).number), (2, 9));
}

#[test]
fn wrong_values_are_one_sentence() {
    for (query, message) in [
        (
            "size=1",
            "unknown setting 'size'; there are: number, bytes, wait, limit, switch, colour, text, name, file, other, list",
        ),
        (
            "time=1",
            "unknown setting 'time'; there are: number, bytes, wait, limit, switch, colour, text, name, file, other, list",
        ),
        ("number=1", "number is a whole number, 2 to 9, not '1'"),
        ("number=300", "number is a whole number, 2 to 9, not '300'"),
        ("bytes=-1", "bytes is a whole number of bytes, not '-1'"),
        ("wait=soon", "wait is a whole number of milliseconds, not 'soon'"),
        ("switch=yes", "switch is one of on, off, not 'yes'"),
        ("colour=blue", "colour is one of red, green, not 'blue'"),
        ("number", "'number' is not name=value"),
        ("number=4&number=4", "'number' is given twice"),
    ] {
        let error = All::default().set_query(query).unwrap_err();
        assert_eq!((error.kind(), error.message()), (crate::ErrorKind::Config, message));
    }
    assert_eq!("blue".parse::<Colour>().unwrap_err().message(), "'blue' is not one of red, green");
}

#[test]
fn table_describes_each_setting() {
    let described = |name: &str| {
        let info = All::SETTINGS.iter().find(|info| info.name == name).unwrap();
        (info.summary(), info.expected(), info.default())
    };
    let row = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
    assert_eq!(described("bytes"), row("A number of bytes", "a whole number of bytes", "all"));
    assert_eq!(described("colour"), row("A word", "one of red, green", "red"));
    assert_eq!(described("time"), row("A duration", "a whole number of milliseconds", "1000"));
    assert_eq!(described("other"), row("A file, or none", "a file", "none"));
}
