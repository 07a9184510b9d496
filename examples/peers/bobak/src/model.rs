//! Records, relations, and what pages show.

use bobak::Shape;
use bobak::prelude::*;
pub use bobak::relation::NestedRecord;
use bobak::relation::ToMany;
use serde::Serialize;

#[derive(Record)]
pub struct Customer {
    pub id: i64,
    pub name: String,
    #[record(unique)]
    pub email: String,
    #[record(index)]
    pub city: String,
}

#[derive(Record)]
pub struct Product {
    pub id: i64,
    #[record(index)]
    pub name: String,
    pub price: i32,
    #[record(check = "stock >= 0")]
    pub stock: i32,
}

#[derive(Record)]
pub struct Tag {
    pub id: i64,
    #[record(unique)]
    pub name: String,
}

#[derive(Record)]
pub struct ProductTag {
    #[record(key, references = Product, on_delete = "cascade")]
    pub product_id: i64,
    #[record(key, references = Tag, index)]
    pub tag_id: i64,
}

#[derive(Record)]
pub struct Order {
    pub id: i64,
    #[record(references = Customer, index)]
    pub customer_id: i64,
    #[record(index)]
    pub placed: i64,
    #[record(deleted_at)]
    pub deleted_at: Option<Timestamp>,
}

#[derive(Record)]
pub struct Line {
    pub id: i64,
    #[record(references = Order, on_delete = "cascade", index)]
    pub order_id: i64,
    #[record(references = Product, index)]
    pub product_id: i64,
    pub quantity: i32,
    pub price: i32,
}

#[derive(Record)]
pub struct Review {
    pub id: i64,
    #[record(references = Product, on_delete = "cascade", index)]
    pub product_id: i64,
    #[record(references = Customer, index)]
    pub customer_id: i64,
    #[record(range = 1..=5)]
    pub rating: i32,
    #[record(trim, length = 1..=200)]
    pub body: String,
    pub written: i64,
}

impl Order {
    pub const LINES: ToMany<Order, Line> = Line::ORDER.inverse();
}

impl Product {
    pub const TAGS: ToMany<Product, Tag> = ProductTag::PRODUCT.inverse().then(ProductTag::TAG);
    pub const REVIEWS: ToMany<Product, Review> = Review::PRODUCT.inverse();
}

#[derive(Shape, Serialize)]
#[shape(of = Customer)]
pub struct CustomerName {
    name: String,
}

#[derive(Shape, Serialize)]
#[shape(of = Product)]
pub struct ProductName {
    name: String,
}

#[derive(Shape, Serialize)]
#[shape(of = Order)]
pub struct OrderPage {
    id: i64,
    placed: i64,
    #[shape(one = Order::CUSTOMER)]
    customer: CustomerName,
    #[shape(many = Order::LINES, order_by = Line::ID.asc())]
    lines: Vec<LinePage>,
}

#[derive(Shape, Serialize)]
#[shape(of = Line)]
pub struct LinePage {
    quantity: i32,
    price: i32,
    #[shape(one = Line::PRODUCT)]
    product: ProductName,
}

#[derive(Shape, Serialize)]
#[shape(of = Product)]
pub struct ProductPage {
    name: String,
    price: i32,
    #[shape(many = Product::TAGS, select = Tag::NAME, order_by = Tag::NAME.asc())]
    tags: Vec<String>,
    #[shape(count = Product::REVIEWS)]
    reviews: u64,
    #[shape(many = Product::REVIEWS, order_by = Review::ID.desc(), limit = 5)]
    latest: Vec<ReviewPage>,
}

#[derive(Shape, Serialize)]
#[shape(of = Review)]
pub struct ReviewPage {
    #[shape(one = Review::CUSTOMER)]
    author: CustomerName,
    rating: i32,
    body: String,
}

#[derive(Serialize)]
pub struct Catalogue {
    pub total: u64,
    pub products: Vec<ProductCard>,
}

#[derive(Shape, Serialize)]
#[shape(of = Product)]
pub struct ProductCard {
    id: i64,
    name: String,
    price: i32,
    #[shape(count = Product::REVIEWS)]
    reviews: u64,
}

pub fn open(url: &str) -> bobak::Result<Db> {
    Db::builder()
        .record::<Customer>()
        .record::<Product>()
        .record::<Tag>()
        .record::<ProductTag>()
        .record::<Order>()
        .record::<Line>()
        .record::<Review>()
        .open(url)
}
