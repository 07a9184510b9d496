use bobak::prelude::*;
use bobak::relation::ToMany;
// In no struct: nameless: the table: '' is not a valid column name
// In no struct: broken: view

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "Order Details", index(product_id, unique, name = "product_of"))]
pub struct OrderDetail {
    #[record(key, column = "Order ID")]
    pub order_id: i64,
    #[record(key, column = "Product (ID)")]
    pub product_id: i64,
    #[record(max = 9)]
    pub note: Option<String>,
    #[record(check = "price >= 0")]
    pub price: Value<'static>, // declared NUMERIC: holds values of any type
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "blob_key")]
pub struct BlobKey {
    #[record(key)]
    pub hash: Vec<u8>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "bookings", foreign_key(room, desk, references = Desk(room, number)), foreign_key(room, other, references = Desk(room, number), relation = ROOM_OTHER))]
pub struct Booking {
    pub id: i64,
    pub room: String,
    pub desk: Option<i64>,
    pub other: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "cascaded")]
pub struct Cascaded {
    pub id: i64,
    #[record(references = Counted, on_delete = "no_action")]
    pub parent: i64,
    #[record(references = SmallKey, on_delete = "cascade", deferred)]
    pub other: Option<i16>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "child", foreign_key(b, a, references = ReversedKey(b, a), on_delete = "no_action", on_update = "cascade"))]
pub struct Child {
    pub id: i64,
    pub b: String,
    pub a: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "counted", never_reuse_keys)]
pub struct Counted {
    pub id: i64,
    pub name: Option<String>,
}

#[allow(dead_code)]
impl Counted {
    pub const CASCADED: ToMany<Self, Cascaded> = Cascaded::PARENT_REF.inverse();
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "date_key")]
pub struct DateKey {
    #[record(key)]
    pub day: Value<'static>, // declared DATE: holds values of any type
    pub at: Value<'static>, // declared DATETIME: holds values of any type
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "dates")]
pub struct DateRow {
    pub id: i64,
    pub day: Value<'static>, // declared DATE: holds values of any type
    pub at: Value<'static>, // declared TIMESTAMP: holds values of any type
    pub data: Value<'static>, // declared JSON: holds values of any type
    #[record(column = "type", default = "x")]
    pub type_: Option<String>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "desks")]
pub struct Desk {
    #[record(key)]
    pub room: String,
    #[record(key)]
    pub number: i64,
}

#[allow(dead_code)]
impl Desk {
    pub const BOOKINGS_BY_DESK: ToMany<Self, Booking> = Booking::DESK_REF.inverse();
    pub const BOOKINGS_BY_ROOM_OTHER: ToMany<Self, Booking> = Booking::ROOM_OTHER.inverse();
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "größen")]
pub struct Größen {
    #[record(key = "given")]
    pub größe: i64,
    #[record(column = "fn")]
    pub fn_: Option<String>,
    pub 名前: Option<String>,
    #[record(column = "m²")]
    pub m: Option<f64>,
    #[record(column = "_id")]
    pub id: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "int_key")]
pub struct IntKey {
    #[record(key = "given")]
    pub id: i64,
    pub a: Value<'static>, // declared without a type
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "long_key")]
pub struct LongKey {
    #[record(key)]
    pub a: i64,
    #[record(key)]
    pub b: i64,
    #[record(key)]
    pub c: i64,
    #[record(key)]
    pub d: i64,
    #[record(key)]
    pub e: i64,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "members")]
pub struct Member {
    pub id: i64,
    #[record(references = Team, on_delete = "cascade")]
    pub team_id: i64,
    #[record(references = Member)]
    pub mentor: Option<i64>,
    #[record(unique, references = Team)]
    pub home_team: Option<i64>,
}

#[allow(dead_code)]
impl Member {
    pub const MEMBERS: ToMany<Self, Member> = Member::MENTOR_REF.inverse();
    pub const TEAMS: ToMany<Self, Team> = Team::LEAD_REF.inverse();
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "no_key")]
pub struct NoKey {
    #[record(key)]
    pub rowid: i64,
    pub a: Option<String>,
    pub b: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "numeric_key")]
pub struct NumericKey {
    #[record(key)]
    pub code: Value<'static>, // declared numeric: holds values of any type
    pub amount: Value<'static>, // declared DECIMAL(10,2): holds values of any type
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "options")]
pub struct OptionRow {
    pub id: i64,
    #[record(column = "2nd value")]
    pub column_2nd_value: Option<i64>,
    #[record(column = "Self", unique, collation = "nocase")]
    pub self_: Option<String>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "parts")]
pub struct Part {
    pub id: i64,
    pub product: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "points", foreign_key(a, b, references = XY(a, b), relation = X_Y))]
pub struct Point {
    pub id: i64,
    pub a: Option<i64>,
    pub b: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "real_key")]
pub struct RealKey {
    #[record(key)]
    pub x: f64,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "reversed_key")]
pub struct ReversedKey {
    #[record(key)]
    pub b: String,
    #[record(key)]
    pub a: i64,
    pub c: Option<f64>,
}

#[allow(dead_code)]
impl ReversedKey {
    pub const CHILD: ToMany<Self, Child> = Child::REVERSED_KEY.inverse();
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "small_key")]
pub struct SmallKey {
    #[record(key)]
    pub code: i16,
    pub name: Option<String>,
}

#[allow(dead_code)]
impl SmallKey {
    pub const CASCADED: ToMany<Self, Cascaded> = Cascaded::OTHER_REF.inverse();
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "teams")]
pub struct Team {
    pub id: i64,
    #[record(references = Member)]
    pub lead: Option<i64>,
    pub teams: Option<i64>,
}

#[allow(dead_code)]
impl Team {
    pub const MEMBERS_BY_TEAM: ToMany<Self, Member> = Member::TEAM.inverse();
    pub const MEMBERS_BY_HOME_TEAM: ToMany<Self, Member> = Member::HOME_TEAM_REF.inverse();
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "text_key")]
pub struct TextKey {
    #[record(max = 20)]
    pub id: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "tiny_key")]
pub struct TinyKey {
    #[record(key)]
    pub code: i8,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "untyped_key")]
pub struct UntypedKey {
    #[record(key)]
    pub k: Value<'static>, // declared without a type
    pub v: Value<'static>, // declared without a type
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "uuid_key")]
pub struct UuidKey {
    pub id: Uuid,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "x_y")]
pub struct XY {
    #[record(key)]
    pub a: i64,
    #[record(key)]
    pub b: i64,
}

#[allow(dead_code)]
impl XY {
    pub const POINTS: ToMany<Self, Point> = Point::X_Y.inverse();
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "boxes", view)]
pub struct BoxRow {
    pub id: Option<i64>,
    pub x0: Option<f64>,
    pub x1: Option<f64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "child_counts", view)]
pub struct ChildCount {
    pub a: Option<i64>,
    pub n: Value<'static>, // declared without a type
    #[record(column = "largest b")]
    pub largest_b: Value<'static>, // declared without a type
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "docs", view)]
pub struct Doc {
    pub title: Value<'static>, // declared without a type
    pub body: Value<'static>, // declared without a type
}
