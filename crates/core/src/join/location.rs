//! Distances between locations on the Earth.

use super::selection::JoinPart;
use super::tables::JoinsTable;
use super::{
    ExpressionMethods, JoinColumn, JoinCondition, JoinExpr, JoinFilter, JoinFunction, JoinTable,
};
use crate::{Column, Comparison, Condition, Error, ErrorKind, Result, Type, Value, ValueRef};

/// The mean radius of the Earth in metres, of the International Union of Geodesy and Geophysics.
const RADIUS: f64 = 6_371_008.8;

/// How much wider than the circle a box is, since its sides are rounded.
const MARGIN: f64 = 1e-9;

/// A location on the Earth: degrees of latitude and longitude, as GPS and GeoJSON have them (WGS 84).
///
/// ```
/// use bobak_core::join::Location;
///
/// let bern = Location::new(46.9480, 7.4474)?;
/// let zurich = Location::new(47.3769, 8.5417)?;
/// assert_eq!(bern.distance_to(zurich).round(), 95_494.0);
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Location {
    latitude: f64,
    longitude: f64,
}

impl Location {
    /// A location of a latitude from −90 to 90, north being positive, and a longitude from −180 to 180, east being positive.
    ///
    /// # Errors
    /// `OutOfRange` for other numbers.
    pub fn new(latitude: f64, longitude: f64) -> Result<Self> {
        if !(-90.0..=90.0).contains(&latitude) {
            return Err(beyond("latitude", latitude, 90));
        }
        if !(-180.0..=180.0).contains(&longitude) {
            return Err(beyond("longitude", longitude, 180));
        }
        Ok(Self { latitude, longitude })
    }

    /// The degrees north of the equator.
    #[must_use]
    pub const fn latitude(self) -> f64 {
        self.latitude
    }

    /// The degrees east of Greenwich.
    #[must_use]
    pub const fn longitude(self) -> f64 {
        self.longitude
    }

    /// The metres to another location along the surface, on a sphere: at most 0.6 % from the distance on the ellipsoid.
    #[must_use]
    pub fn distance_to(self, other: Self) -> f64 {
        let half_sine = |a: f64, b: f64| ((a - b).to_radians() / 2.0).sin().powi(2);
        let around = self.latitude.to_radians().cos() * other.latitude.to_radians().cos();
        let square = half_sine(self.latitude, other.latitude)
            + around * half_sine(self.longitude, other.longitude);
        // Rounding can make it larger than 1 for opposite locations.
        2.0 * RADIUS * square.min(1.0).sqrt().asin()
    }
}

#[cold]
fn beyond(what: &str, degrees: f64, most: u8) -> Error {
    let message = format!("a {what} is from -{most} to {most} degrees, and not {degrees}");
    Error::new(ErrorKind::OutOfRange, message)
}

/// Two columns of a record that are a location: see [`location`].
#[derive(Debug)]
pub struct LocationColumns<T, V> {
    latitude: Column<T, V>,
    longitude: Column<T, V>,
}

impl<T, V> Clone for LocationColumns<T, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, V> Copy for LocationColumns<T, V> {}

/// The location in two columns of floats, the latitude and the longitude.
///
/// ```
/// # use bobak_core::{Column, Record, Result, join::{from, location, ExpressionMethods, Location}};
/// # fn example<Cafe: Record>(name: Column<Cafe, String>, latitude: Column<Cafe, f64>, longitude: Column<Cafe, f64>) -> Result<()> {
/// let distance = location(latitude, longitude).distance_to(Location::new(46.9480, 7.4474)?);
/// let nearest = from::<Cafe>()
///     .and(distance.le(500.0))
///     .order_by(distance.asc())
///     .limit(10)
///     .select((name, distance));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub const fn location<T, V>(
    latitude: Column<T, V>,
    longitude: Column<T, V>,
) -> LocationColumns<T, V> {
    LocationColumns { latitude, longitude }
}

impl<T, V> LocationColumns<T, V> {
    /// The metres to a location, as [`Location::distance_to`] has them; NULL if a column is NULL or beyond what a [`Location`]
    /// has.
    ///
    /// A filter by `lt` or `le` of it is also one by a box around the circle, which an index of the latitude finds.
    #[must_use]
    pub const fn distance_to(self, to: Location) -> DistanceTo<T, V> {
        DistanceTo { from: self, to }
    }

    /// Rows in a box, with its edges, from its corner in the south west to that in the north east. It crosses the meridian of
    /// 180° if the first corner has the larger longitude.
    #[must_use]
    pub const fn in_box(self, south_west: Location, north_east: Location) -> InBox<T, V> {
        InBox { columns: self, south_west, north_east }
    }
}

/// The distance of a record to a location: see [`LocationColumns::distance_to`].
#[derive(Debug)]
pub struct DistanceTo<T, V> {
    from: LocationColumns<T, V>,
    to: Location,
}

impl<T, V> Clone for DistanceTo<T, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, V> Copy for DistanceTo<T, V> {}

impl<T, V> ExpressionMethods for DistanceTo<T, V> {}

/// A type of field that holds degrees.
#[diagnostic::on_unimplemented(message = "a field of type `{Self}` holds no degrees: `f64` does")]
pub trait DegreesField {}

impl DegreesField for f64 {}
impl DegreesField for Option<f64> {}

impl<L, P, T, V: DegreesField> JoinPart<L, P> for DistanceTo<T, V>
where
    Column<T, V>: JoinPart<L, P>,
{
    type Value = Option<f64>;

    fn expr(&self) -> JoinExpr {
        let degrees = |degrees| JoinExpr::Value(Value::Float(degrees), Type::F64);
        let columns = [self.from.latitude.expr(), self.from.longitude.expr()];
        let to = [degrees(self.to.latitude), degrees(self.to.longitude)];
        JoinExpr::Function(JoinFunction::Distance, columns.into_iter().chain(to).collect())
    }
}

/// Rows in a box: see [`LocationColumns::in_box`].
#[derive(Debug)]
pub struct InBox<T, V> {
    columns: LocationColumns<T, V>,
    south_west: Location,
    north_east: Location,
}

impl<L: JoinsTable<T, P>, T, V: DegreesField, P> JoinFilter<L, P> for InBox<T, V> {
    fn into_condition(self) -> JoinCondition {
        let (latitude, longitude) = (self.columns.latitude.index(), self.columns.longitude.index());
        let (from, to) = (self.south_west, self.north_east);
        let mut parts = between(latitude, from.latitude, to.latitude);
        if from.longitude <= to.longitude {
            parts.extend(between(longitude, from.longitude, to.longitude));
        } else {
            let [east, west] = beside(longitude, to.longitude, from.longitude);
            parts.push(Condition::Or(vec![east, west]));
        }
        JoinCondition::Row(L::INDEX, Condition::And(parts))
    }
}

fn compare(column: usize, comparison: Comparison, degrees: f64) -> Condition {
    Condition::Compare { column, comparison, value: Value::Float(degrees) }
}

fn between(column: usize, least: f64, most: f64) -> Vec<Condition> {
    vec![
        compare(column, Comparison::GreaterOrEqual, least),
        compare(column, Comparison::LessOrEqual, most),
    ]
}

/// At most the one, or at least the other.
fn beside(column: usize, most: f64, least: f64) -> [Condition; 2] {
    [
        compare(column, Comparison::LessOrEqual, most),
        compare(column, Comparison::GreaterOrEqual, least),
    ]
}

/// The box around the circle of a filter by a distance, in which an index finds the rows that may match; `None` if there is
/// none, or if its columns are not those of a table of the join itself.
pub(super) fn box_around(
    filter: &JoinCondition,
    tables: &[JoinTable],
    outer: usize,
) -> Option<JoinCondition> {
    let JoinCondition::Compare(JoinExpr::Function(JoinFunction::Distance, arguments), less, most) =
        filter
    else {
        return None;
    };
    let (Comparison::Less | Comparison::LessOrEqual, JoinExpr::Value(Value::Float(most), _)) =
        (less, most)
    else {
        return None;
    };
    let [
        JoinExpr::Column(latitude),
        JoinExpr::Column(longitude),
        JoinExpr::Value(Value::Float(y), _),
        JoinExpr::Value(Value::Float(x), _),
    ] = arguments.as_slice()
    else {
        return None;
    };
    let index = latitude.table;
    let joined = tables.get(index).filter(|joined| index >= outer && joined.rows.is_none())?;
    let is_exact = |column: &JoinColumn| {
        let column = joined.table.columns().get(column.column);
        column.is_some_and(|column| column.ty == Type::F64)
    };
    if longitude.table != index || !is_exact(latitude) || !is_exact(longitude) {
        return None;
    }
    let center = Location::new(*y, *x).ok()?;
    Some(JoinCondition::Row(index, center.box_of(*most, latitude.column, longitude.column)))
}

impl Location {
    /// The value of [`JoinFunction::Distance`]: the metres between two locations, given as latitude, longitude, latitude and
    /// longitude; NULL if one is no location.
    ///
    /// # Errors
    /// `Mismatch` for an argument that is not a float.
    pub fn metres_between(arguments: &[ValueRef<'_>]) -> Result<Value<'static>> {
        let degrees = |place: usize| match arguments.get(place) {
            Some(ValueRef::Float(degrees)) => Ok(*degrees),
            other => Err(Error::mismatch("a float", other.copied().unwrap_or_default())),
        };
        let from = Self::new(degrees(0)?, degrees(1)?);
        let to = Self::new(degrees(2)?, degrees(3)?);
        let metres = from.ok().zip(to.ok()).map(|(from, to)| from.distance_to(to));
        Ok(metres.map_or(Value::Null, Value::Float))
    }

    /// The condition that a location is in the box around a circle of so many metres.
    fn box_of(self, metres: f64, latitude: usize, longitude: usize) -> Condition {
        let angle = metres.max(0.0) / RADIUS * (1.0 + MARGIN) + MARGIN;
        let height = angle.to_degrees();
        let (south, north) = (self.latitude - height, self.latitude + height);
        let mut parts = between(latitude, south, north);
        let has_pole = south <= -90.0 || north >= 90.0;
        if !has_pole {
            // Where the circle is widest: nearer to the pole than its centre.
            let width = (angle.sin() / self.latitude.to_radians().cos()).min(1.0).asin();
            let width = width.to_degrees() * (1.0 + MARGIN) + MARGIN;
            let (west, east) = (self.longitude - width, self.longitude + width);
            match () {
                () if west < -180.0 => {
                    parts.push(Condition::Or(beside(longitude, east, west + 360.0).into()));
                }
                () if east > 180.0 => {
                    parts.push(Condition::Or(beside(longitude, east - 360.0, west).into()));
                }
                () => parts.extend(between(longitude, west, east)),
            }
        }
        Condition::And(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(latitude: f64, longitude: f64) -> Location {
        Location::new(latitude, longitude).unwrap()
    }

    /// Whether the box around a circle holds a location.
    fn holds(condition: &Condition, place: Location) -> bool {
        match condition {
            Condition::And(parts) => parts.iter().all(|part| holds(part, place)),
            Condition::Or(parts) => parts.iter().any(|part| holds(part, place)),
            Condition::Compare { column, comparison, value: Value::Float(degrees) } => {
                let own = [place.latitude, place.longitude][*column];
                match comparison {
                    Comparison::LessOrEqual => own <= *degrees,
                    _ => own >= *degrees,
                }
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn distances_on_a_sphere() {
        let quarter = std::f64::consts::FRAC_PI_2 * RADIUS;
        for (from, to, metres) in [
            (at(0.0, 0.0), at(0.0, 90.0), quarter),
            (at(0.0, 0.0), at(90.0, 17.0), quarter),
            (at(0.0, 179.5), at(0.0, -179.5), quarter / 90.0),
            (at(12.5, -30.0), at(-12.5, 150.0), 2.0 * quarter),
            (at(46.9480, 7.4474), at(46.9480, 7.4474), 0.0),
        ] {
            assert!((from.distance_to(to) - metres).abs() < 1e-6, "{from:?} {to:?}");
        }
    }

    #[test]
    fn no_location() {
        let wrong = [(90.1, 0.0), (f64::NAN, 0.0), (0.0, 180.5), (0.0, f64::INFINITY)];
        for (latitude, longitude) in wrong {
            let error = Location::new(latitude, longitude).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange);
            let from = [latitude, longitude, 0.0, 0.0].map(ValueRef::Float);
            assert_eq!(Location::metres_between(&from).unwrap(), Value::Null);
        }
    }

    /// No location in a circle is outside of the box around it, at the poles and the meridian of 180° neither.
    #[test]
    fn boxes_hold_their_circles() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut inside, mut outside) = (0, 0);
        for _ in 0..200_000 {
            let center = at(random() * 180.0 - 90.0, random() * 360.0 - 180.0);
            let metres = 10_f64.powf(random() * 7.4);
            let turn = |degrees: f64, most: f64| (degrees * metres / 60_000.0).clamp(-most, most);
            let latitude = (center.latitude + turn(random() - 0.5, 180.0)).clamp(-90.0, 90.0);
            let longitude = center.longitude + turn((random() - 0.5) * 4.0, 360.0);
            let place = at(latitude, (longitude + 540.0).rem_euclid(360.0) - 180.0);
            let in_box = holds(&center.box_of(metres, 0, 1), place);
            if center.distance_to(place) <= metres {
                assert!(in_box, "{center:?} {metres} {place:?}");
                inside += 1;
            } else {
                outside += usize::from(!in_box);
            }
        }
        assert!(inside > 10_000 && outside > 10_000, "{inside} {outside}");
    }
}
