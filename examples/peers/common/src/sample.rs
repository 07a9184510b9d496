//! The rows that each shop stores before the use cases run.

pub(crate) const CUSTOMERS: u64 = 1_000;
pub(crate) const PRODUCTS: u64 = 500;
pub(crate) const ORDERS: u64 = 5_000;
const REVIEWS: u64 = 3_000;
const CITIES: [&str; 8] = ["Bern", "Basel", "Chur", "Genf", "Lugano", "Luzern", "Thun", "Zug"];
const TAGS: u64 = 20;

/// The rows. References are the positions of rows, from 1.
pub struct Sample {
    /// Name, e-mail address and city.
    pub customers: Vec<(String, String, String)>,
    /// Names.
    pub tags: Vec<String>,
    pub products: Vec<SampleProduct>,
    pub orders: Vec<SampleOrder>,
    /// Product, customer, rating, body and time.
    pub reviews: Vec<(i64, i64, i32, String, i64)>,
}

/// A product with its tags.
pub struct SampleProduct {
    pub name: String,
    pub price: i32,
    pub stock: i32,
    pub tags: Vec<i64>,
}

/// An order with the product, the quantity and the price of each line.
pub struct SampleOrder {
    pub customer: i64,
    pub placed: i64,
    pub lines: Vec<(i64, i32, i32)>,
}

impl Sample {
    /// The same rows each time.
    #[must_use]
    pub fn new() -> Self {
        let customer = |n| {
            let city = city(n * 7 / 3).to_owned();
            (format!("Customer {n}"), format!("customer{n}@example.org"), city)
        };
        let review = |n: u64| {
            let (product, customer) = (1 + n * 31 % PRODUCTS, 1 + n * 17 % CUSTOMERS);
            let body = format!("Review {n}: it does what it should, and came in time");
            (key(product), key(customer), number(1 + n * 11 % 5), body, 1_700_000_000 + key(n))
        };
        Self {
            customers: (1..=CUSTOMERS).map(customer).collect(),
            tags: (0..TAGS).map(|n| tag(n).to_owned()).collect(),
            products: (1..=PRODUCTS).map(product).collect(),
            orders: (1..=ORDERS).map(order).collect(),
            reviews: (1..=REVIEWS).map(review).collect(),
        }
    }
}

impl Default for Sample {
    fn default() -> Self {
        Self::new()
    }
}

fn product(n: u64) -> SampleProduct {
    let tags = (0..3).map(|tag| key(1 + (n * 3 + tag * 7) % TAGS)).collect();
    let price = number(100 + n * 97 % 9_900);
    SampleProduct { name: format!("Product {}", n * 7 % 100), price, stock: 1_000_000, tags }
}

fn order(n: u64) -> SampleOrder {
    let line = |at: u64| {
        let product = 1 + (n * 13 + at * 101) % PRODUCTS;
        (key(product), number(1 + (n + at) % 4), number(100 + product * 97 % 9_900))
    };
    let placed = 1_600_000_000 + key(n / 2) * 60;
    SampleOrder { customer: customer_of(key(n)), placed, lines: (0..2 + n % 3).map(line).collect() }
}

/// The customer who placed an order.
pub(crate) fn customer_of(order: i64) -> i64 {
    1 + order * 7 % key(CUSTOMERS)
}

pub(crate) fn city(n: u64) -> &'static str {
    CITIES[usize::try_from(n).unwrap_or(0) % CITIES.len()]
}

pub(crate) fn tag(n: u64) -> &'static str {
    const NAMES: [&str; 20] = [
        "black", "blue", "cheap", "cotton", "gift", "glass", "green", "heavy", "iron", "large",
        "light", "new", "paper", "red", "sale", "small", "soft", "steel", "white", "wood",
    ];
    NAMES[usize::try_from(n).unwrap_or(0) % NAMES.len()]
}

fn key(n: u64) -> i64 {
    n.cast_signed()
}

fn number(n: u64) -> i32 {
    i32::try_from(n).unwrap_or(0)
}
