//! What the shops share, and the blogs, so that they do the same: the use cases, their inputs, and the protocol with
//! `cargo xtask peers`, which runs them alternately, compares their results, and reports the times.

mod blog;
mod sample;

pub use blog::{Blog, BlogSample, run_blog};
pub use sample::{Sample, SampleOrder, SampleProduct};

use serde::Serialize;
use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

/// The result of a use case: anything that becomes JSON, which has to be the same in all shops.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// The use cases. Amounts are in cents, and times in seconds since 1970: types that all three libraries have.
pub trait Shop: Sized {
    /// Opens an empty database, and creates the tables.
    fn open(url: &str) -> Outcome<Self>;

    /// Stores the sample in one transaction. Rows are inserted in order, so that their keys are 1, 2, 3…
    fn fill(&mut self, sample: &Sample) -> Outcome<()>;

    /// Stores an order with its lines at the products' prices, and reduces the stocks. Fails, and changes nothing, if a
    /// stock does not suffice. Returns the order's key.
    fn place_order(&mut self, customer: i64, placed: i64, items: &[(i64, i32)]) -> Outcome<i64>;

    /// The 20 latest orders of customers in a city, each with `id`, `placed`, `customer` with `name`, and `lines` in the
    /// order of their keys, each with `quantity`, `price` and `product` with `name`.
    fn orders_of_city(&mut self, city: &str) -> Outcome<impl Serialize>;

    /// A product with `name`, `price`, `tags` (names, sorted), `reviews` (their number), and `latest`: its 5 latest reviews, each
    /// with `author` with `name`, `rating` and `body`.
    fn product_page(&mut self, product: i64) -> Outcome<impl Serialize>;

    /// A page of 20 products that have a tag and cost at most `price`, by name and key: `total`, the number on all pages, and
    /// `products`, each with `id`, `name`, `price` and `reviews` (their number).
    fn catalogue(&mut self, tag: &str, price: i32, page: u64) -> Outcome<impl Serialize>;

    /// The ten customers of a city who spent most, with the amounts in cents, the most first.
    fn best_customers(&mut self, city: &str) -> Outcome<Vec<(String, Option<i64>)>>;

    /// Stores a review, with spaces removed around its body, if the rating is 1 to 5, and the body has 1 to 200 characters.
    /// Returns the names of the fields that are wrong, in order.
    fn review(
        &mut self,
        product: i64,
        customer: i64,
        rating: i32,
        body: &str,
        written: i64,
    ) -> Outcome<Vec<String>>;

    /// Gives a product exactly these tags. Links that stay are not written. Returns how many were added and removed.
    fn retag(&mut self, product: i64, tags: &[i64]) -> Outcome<(u64, u64)>;

    /// Raises the prices of the products that have a tag by an amount. Returns their number.
    fn raise_prices(&mut self, tag: &str, amount: i32) -> Outcome<u64>;

    /// Deletes an order so that it can be restored, counts the customer's orders, restores it, and counts them again.
    fn cancel_and_restore(&mut self, customer: i64, order: i64) -> Outcome<(u64, u64)>;
}

/// Runs a shop: reads a use case and a round from each line, and writes a line with the microseconds that it took, a space,
/// and its result as JSON.
pub fn run<S: Shop>() -> Outcome<()> {
    let url = std::env::args().nth(1).ok_or("usage: shop URL")?;
    let mut shop = S::open(&url)?;
    serve(|case, round| run_case(&mut shop, case, round))
}

/// Reads use cases and writes their times and results.
fn serve(mut run: impl FnMut(&str, u64) -> Outcome<(u128, String)>) -> Outcome<()> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (case, round) = line.rsplit_once(' ').ok_or("expected a use case and a round")?;
        let (micros, result) = run(case, round.parse()?)?;
        println!("{micros} {result}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn run_case<S: Shop>(shop: &mut S, case: &str, round: u64) -> Outcome<(u128, String)> {
    let spread = |count: u64, step: u64| (round * step % count + 1).cast_signed();
    let customer = spread(sample::CUSTOMERS, 37);
    let product = spread(sample::PRODUCTS, 61);
    let (city, tag) = (sample::city(round), sample::tag(round));
    let now = 1_800_000_000 + round.cast_signed();
    match case {
        "fill" => {
            let sample = Sample::new();
            timed(|| shop.fill(&sample))
        }
        "place order" => {
            let items = [(product, 1), (product % 100 + 1, 2), (product % 90 + 101, 3)];
            timed(|| shop.place_order(customer, now, &items))
        }
        "orders of a city" => timed(|| shop.orders_of_city(city)),
        "product page" => timed(|| shop.product_page(product)),
        "catalogue" => timed(|| shop.catalogue(tag, 9_000, round % 2)),
        "best customers" => timed(|| shop.best_customers(city)),
        "review" => timed(|| shop.review(product, customer, 4, " as described ", now)),
        "wrong review" => timed(|| shop.review(product, customer, 6, "  ", now)),
        "retag" => {
            let tags = [spread(20, 3), spread(20, 3) % 20 + 1, spread(20, 7)];
            timed(|| shop.retag(product, &tags))
        }
        "raise prices" => timed(|| shop.raise_prices(tag, 1)),
        "cancel and restore" => {
            let order = spread(sample::ORDERS, 17);
            timed(|| shop.cancel_and_restore(sample::customer_of(order), order))
        }
        _ => Err(format!("there is no use case {case}").into()),
    }
}

fn timed<T: Serialize>(case: impl FnOnce() -> Outcome<T>) -> Outcome<(u128, String)> {
    let start = Instant::now();
    let result = case()?;
    let micros = start.elapsed().as_micros();
    Ok((micros, serde_json::to_string(&result)?))
}
