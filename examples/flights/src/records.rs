//! The five record types of the data, field for field.

use bobak::prelude::*;

/// An airline, by its two-letter code.
#[derive(Record, Debug)]
pub struct Airline {
    /// `UA`
    #[record(key, max = 2)]
    pub carrier: String,
    /// `United Air Lines Inc.`
    #[record(max = 60)]
    pub name: String,
}

/// An airport, by its FAA code.
#[derive(Record, Debug)]
pub struct Airport {
    /// `JFK`
    #[record(key, max = 3)]
    pub faa: String,
    /// Its usual name.
    pub name: String,
    /// Degrees north.
    pub lat: f64,
    /// Degrees east.
    pub lon: f64,
    /// Feet above the sea.
    pub alt: i32,
    /// Hours from UTC.
    pub tz: Option<f64>,
    /// When its clocks are changed.
    pub dst: Option<DaylightSaving>,
    /// `America/New_York`
    pub tzone: Option<String>,
}

/// Whose rule of daylight saving an airport follows.
#[derive(Field, Debug, Clone, Copy, PartialEq)]
#[field(store = "text")]
pub enum DaylightSaving {
    /// That of the United States.
    A,
    /// None.
    N,
    /// It is not known.
    U,
}

/// An aeroplane, by the number on its tail.
#[derive(Record, Debug)]
pub struct Plane {
    /// `N10156`
    #[record(key, max = 6)]
    pub tailnum: String,
    /// When it was made.
    pub year: Option<i32>,
    /// `Fixed wing multi engine`
    #[record(column = "type")]
    pub kind: String,
    /// Who made it.
    #[record(index)]
    pub manufacturer: String,
    /// `EMB-145XR`
    pub model: String,
    /// How many engines it has.
    pub engines: u8,
    /// How many seats it has.
    pub seats: u16,
    /// Its cruising speed in miles an hour.
    pub speed: Option<i32>,
    /// `Turbo-fan`
    pub engine: String,
}

/// The weather at an airport in one hour.
#[derive(Record, Debug)]
pub struct Weather {
    /// The airport.
    #[record(key, max = 3, references = Airport)]
    pub origin: String,
    /// The hour.
    #[record(key)]
    pub time_hour: Timestamp,
    /// Degrees Fahrenheit.
    pub temp: Option<f64>,
    /// Of rain, in inches.
    pub precip: Option<f64>,
    /// In miles.
    pub visib: f64,
    /// In miles an hour.
    pub wind_speed: Option<f64>,
}

/// One flight that left New York.
#[derive(Record, Debug)]
#[record(index(origin, time_hour))]
pub struct Flight {
    /// Given by the engine.
    pub id: i64,
    /// Who flew it.
    #[record(max = 2, index, references = Airline)]
    pub carrier: String,
    /// The airline's number for it.
    pub flight: i32,
    /// The aeroplane. Some are not among the planes: no foreign key.
    #[record(max = 6)]
    pub tailnum: Option<String>,
    /// Where from.
    #[record(max = 3, references = Airport)]
    pub origin: String,
    /// Where to. Some are not among the airports.
    #[record(max = 3)]
    pub dest: String,
    /// The hour in which it was to leave.
    pub time_hour: Timestamp,
    /// Minutes late (early below 0) at leaving; `None` where it was cancelled.
    pub dep_delay: Option<i32>,
    /// Minutes late at landing.
    pub arr_delay: Option<i32>,
    /// Minutes in the air.
    pub air_time: Option<i32>,
    /// Miles.
    #[record(check = "distance > 0")]
    pub distance: i32,
    /// What the airline owes the passengers; an invention of this example.
    #[record(default = 0)]
    pub refund: Currency,
}
