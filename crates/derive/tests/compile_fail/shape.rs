use bobak_derive::Shape;

#[derive(Shape)]
struct WithoutRecord {
    name: String,
}

#[derive(Shape)]
#[shape(of = User)]
struct Nothing;

#[derive(Shape)]
#[shape(of = User)]
struct Typed<T> {
    name: T,
}

#[derive(Shape)]
#[shape(of = User, table = "user", with(me))]
struct OnStruct {
    #[shape(of = User)]
    name: String,
}

#[derive(Shape)]
#[shape(of = User)]
struct OnFields {
    #[shape(limit = 3)]
    id: i64,
    #[shape(many = User::REPORTS, column = User::NAME)]
    names: Vec<String>,
    #[shape(count = User::REPORTS, limit = 3)]
    reports: u64,
    #[shape(one)]
    boss: u64,
}

#[derive(Shape)]
#[shape(of = User)]
struct TwoKinds {
    #[shape(one = User::BOSS, many = User::REPORTS)]
    boss: Option<i64>,
}

#[derive(Shape)]
#[shape(of = User)]
struct NoVec {
    #[shape(many = User::REPORTS)]
    all: u64,
}

fn main() {}
