//! Tables, rows, and what pages show.

use diesel::prelude::*;
use serde::Serialize;

diesel::table! {
    customers (id) {
        id -> BigInt,
        name -> Text,
        email -> Text,
        city -> Text,
    }
}

diesel::table! {
    products (id) {
        id -> BigInt,
        name -> Text,
        price -> Integer,
        stock -> Integer,
    }
}

diesel::table! {
    tags (id) {
        id -> BigInt,
        name -> Text,
    }
}

diesel::table! {
    product_tags (product_id, tag_id) {
        product_id -> BigInt,
        tag_id -> BigInt,
    }
}

diesel::table! {
    orders (id) {
        id -> BigInt,
        customer_id -> BigInt,
        placed -> BigInt,
        deleted_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    lines (id) {
        id -> BigInt,
        order_id -> BigInt,
        product_id -> BigInt,
        quantity -> Integer,
        price -> Integer,
    }
}

diesel::table! {
    reviews (id) {
        id -> BigInt,
        product_id -> BigInt,
        customer_id -> BigInt,
        rating -> Integer,
        body -> Text,
        written -> BigInt,
    }
}

diesel::joinable!(product_tags -> products (product_id));
diesel::joinable!(product_tags -> tags (tag_id));
diesel::joinable!(orders -> customers (customer_id));
diesel::joinable!(lines -> orders (order_id));
diesel::joinable!(lines -> products (product_id));
diesel::joinable!(reviews -> products (product_id));
diesel::joinable!(reviews -> customers (customer_id));
diesel::allow_tables_to_appear_in_same_query!(
    customers,
    products,
    tags,
    product_tags,
    orders,
    lines,
    reviews,
);

#[derive(Insertable)]
#[diesel(table_name = customers)]
pub struct NewCustomer<'a> {
    pub name: &'a str,
    pub email: &'a str,
    pub city: &'a str,
}

#[derive(Insertable)]
#[diesel(table_name = products)]
pub struct NewProduct<'a> {
    pub name: &'a str,
    pub price: i32,
    pub stock: i32,
}

#[derive(Insertable)]
#[diesel(table_name = tags)]
pub struct NewTag<'a> {
    pub name: &'a str,
}

#[derive(Insertable)]
#[diesel(table_name = product_tags)]
pub struct ProductTag {
    pub product_id: i64,
    pub tag_id: i64,
}

#[derive(Insertable)]
#[diesel(table_name = orders)]
pub struct NewOrder {
    pub customer_id: i64,
    pub placed: i64,
}

#[derive(Insertable)]
#[diesel(table_name = lines)]
pub struct NewLine {
    pub order_id: i64,
    pub product_id: i64,
    pub quantity: i32,
    pub price: i32,
}

#[derive(Insertable)]
#[diesel(table_name = reviews)]
pub struct NewReview<'a> {
    pub product_id: i64,
    pub customer_id: i64,
    pub rating: i32,
    pub body: &'a str,
    pub written: i64,
}

#[derive(Queryable, Selectable, Identifiable)]
#[diesel(table_name = orders)]
pub struct Order {
    pub id: i64,
    pub placed: i64,
}

#[derive(Queryable, Selectable, Identifiable, Associations)]
#[diesel(table_name = lines, belongs_to(Order))]
pub struct Line {
    pub id: i64,
    pub order_id: i64,
    pub quantity: i32,
    pub price: i32,
}

#[derive(Queryable, Selectable, Serialize)]
#[diesel(table_name = customers)]
pub struct CustomerName {
    pub name: String,
}

#[derive(Queryable, Selectable, Serialize)]
#[diesel(table_name = products)]
pub struct ProductName {
    pub name: String,
}

#[derive(Serialize)]
pub struct OrderPage {
    pub id: i64,
    pub placed: i64,
    pub customer: CustomerName,
    pub lines: Vec<LinePage>,
}

#[derive(Serialize)]
pub struct LinePage {
    pub quantity: i32,
    pub price: i32,
    pub product: ProductName,
}

#[derive(Serialize)]
pub struct ProductPage {
    pub name: String,
    pub price: i32,
    pub tags: Vec<String>,
    pub reviews: i64,
    pub latest: Vec<ReviewPage>,
}

#[derive(Queryable, Selectable, Serialize)]
#[diesel(table_name = reviews)]
pub struct ReviewPage {
    #[diesel(embed)]
    pub author: CustomerName,
    pub rating: i32,
    pub body: String,
}

#[derive(Serialize)]
pub struct Catalogue {
    pub total: i64,
    pub products: Vec<ProductCard>,
}

#[derive(Serialize)]
pub struct ProductCard {
    pub id: i64,
    pub name: String,
    pub price: i32,
    pub reviews: i64,
}

/// The tables, with the type of generated keys that the database has.
pub fn schema(key: &str) -> String {
    format!(
        "CREATE TABLE customers (id {key}, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, city TEXT NOT NULL);
         CREATE INDEX customers_city ON customers (city);
         CREATE TABLE products (id {key}, name TEXT NOT NULL, price INTEGER NOT NULL,
            stock INTEGER NOT NULL CHECK (stock >= 0));
         CREATE INDEX products_name ON products (name);
         CREATE TABLE tags (id {key}, name TEXT NOT NULL UNIQUE);
         CREATE TABLE product_tags (
            product_id BIGINT NOT NULL REFERENCES products ON DELETE CASCADE,
            tag_id BIGINT NOT NULL REFERENCES tags, PRIMARY KEY (product_id, tag_id));
         CREATE INDEX product_tags_tag ON product_tags (tag_id);
         CREATE TABLE orders (id {key}, customer_id BIGINT NOT NULL REFERENCES customers,
            placed BIGINT NOT NULL, deleted_at BIGINT);
         CREATE INDEX orders_customer ON orders (customer_id);
         CREATE INDEX orders_placed ON orders (placed);
         CREATE TABLE lines (id {key}, order_id BIGINT NOT NULL REFERENCES orders ON DELETE CASCADE,
            product_id BIGINT NOT NULL REFERENCES products, quantity INTEGER NOT NULL, price INTEGER NOT NULL);
         CREATE INDEX lines_order ON lines (order_id);
         CREATE INDEX lines_product ON lines (product_id);
         CREATE TABLE reviews (id {key}, product_id BIGINT NOT NULL REFERENCES products ON DELETE CASCADE,
            customer_id BIGINT NOT NULL REFERENCES customers, rating INTEGER NOT NULL, body TEXT NOT NULL,
            written BIGINT NOT NULL);
         CREATE INDEX reviews_product ON reviews (product_id);
         CREATE INDEX reviews_customer ON reviews (customer_id);"
    )
}
