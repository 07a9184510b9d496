//! The shop on Bobak: SQLite and PostgreSQL by the URL.

mod model;

use bobak::prelude::*;
use model::*;
use peers_common::{Outcome, Sample, Shop};
use serde::Serialize;

struct BobakShop(Db);

impl Shop for BobakShop {
    fn open(url: &str) -> Outcome<Self> {
        let db = open(url)?;
        db.create_missing_tables()?;
        Ok(Self(db))
    }

    fn fill(&mut self, sample: &Sample) -> Outcome<()> {
        let mut batch = self.0.batch(BatchOptions::new().commit_every(0));
        for (name, email, city) in &sample.customers {
            batch.insert(&Customer {
                id: 0,
                name: name.clone(),
                email: email.clone(),
                city: city.clone(),
            })?;
        }
        for name in &sample.tags {
            batch.insert(&Tag { id: 0, name: name.clone() })?;
        }
        for product in &sample.products {
            batch.insert(&Product {
                id: 0,
                name: product.name.clone(),
                price: product.price,
                stock: product.stock,
            })?;
        }
        for (product_id, product) in (1..).zip(&sample.products) {
            for &tag_id in &product.tags {
                batch.insert(&ProductTag { product_id, tag_id })?;
            }
        }
        for order in &sample.orders {
            batch.insert(&Order {
                id: 0,
                customer_id: order.customer,
                placed: order.placed,
                deleted_at: None,
            })?;
        }
        for (order_id, order) in (1..).zip(&sample.orders) {
            for &(product_id, quantity, price) in &order.lines {
                batch.insert(&Line { id: 0, order_id, product_id, quantity, price })?;
            }
        }
        for &(product_id, customer_id, rating, ref body, written) in &sample.reviews {
            batch.insert(&Review {
                id: 0,
                product_id,
                customer_id,
                rating,
                body: body.clone(),
                written,
            })?;
        }
        batch.finish()?;
        Ok(())
    }

    fn place_order(&mut self, customer_id: i64, placed: i64, items: &[(i64, i32)]) -> Outcome<i64> {
        let id = self.0.transaction(|transaction| {
            let products = transaction.table::<Product>()?;
            let mut lines = Vec::new();
            let found = products.get_many(items.iter().map(|(product, _)| *product))?;
            for (&(product_id, quantity), product) in items.iter().zip(found) {
                let price = product
                    .ok_or_else(|| Error::new(ErrorKind::NotFound, "no such product"))?
                    .price;
                products.set(product_id, [Product::STOCK.add(-quantity)])?;
                lines.push(Line { id: 0, order_id: 0, product_id, quantity, price });
            }
            let order = NestedRecord::new(Order { id: 0, customer_id, placed, deleted_at: None });
            transaction.table()?.insert_nested(order.with(Order::LINES, lines))
        })?;
        Ok(id)
    }

    fn orders_of_city(&mut self, city: &str) -> Outcome<impl Serialize> {
        let latest = Query::filter(Order::CUSTOMER.has(Customer::CITY.eq(city)))
            .order_by(Order::PLACED.desc())
            .order_by(Order::ID.desc())
            .limit(20);
        Ok(self.0.table::<Order>()?.load::<OrderPage>(latest, &())?)
    }

    fn product_page(&mut self, product: i64) -> Outcome<impl Serialize> {
        Ok(self.0.table::<Product>()?.load_one::<ProductPage>(product, &())?)
    }

    fn catalogue(&mut self, tag: &str, price: i32, page: u64) -> Outcome<impl Serialize> {
        let products = self.0.table::<Product>()?;
        let filter = Product::TAGS.any(Tag::NAME.eq(tag)).and(Product::PRICE.le(price));
        let query = Query::filter(filter).order_by(Product::NAME.asc()).order_by(Product::ID.asc());
        let total = products.count(query.clone())?;
        Ok(Catalogue { total, products: products.load(query.limit(20).offset(page * 20), &())? })
    }

    fn best_customers(&mut self, city: &str) -> Outcome<Vec<(String, Option<i64>)>> {
        let spent = (Line::PRICE * Line::QUANTITY).sum();
        let best = Query::<Order>::all()
            .join(Order::CUSTOMER)
            .join(Order::LINES)
            .and(Customer::CITY.eq(city))
            .group_by(Customer::ID)
            .order_by(spent.desc())
            .order_by(Customer::ID.asc())
            .limit(10)
            .select((Customer::NAME, spent));
        Ok(self.0.list(&best)?)
    }

    fn review(
        &mut self,
        product_id: i64,
        customer_id: i64,
        rating: i32,
        body: &str,
        written: i64,
    ) -> Outcome<Vec<String>> {
        let review =
            Review { id: 0, product_id, customer_id, rating, body: body.to_owned(), written };
        match self.0.table()?.insert(&review) {
            Ok(_) => Ok(Vec::new()),
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(error
                .violations()
                .iter()
                .filter_map(|one| one.column().map(str::to_owned))
                .collect()),
            Err(error) => Err(error.into()),
        }
    }

    fn retag(&mut self, product: i64, tags: &[i64]) -> Outcome<(u64, u64)> {
        let products = self.0.table::<Product>()?;
        let replaced = products.links(Product::TAGS, product)?.replace(tags.iter().copied())?;
        Ok((replaced.added, replaced.removed))
    }

    fn raise_prices(&mut self, tag: &str, amount: i32) -> Outcome<u64> {
        let tagged = Product::TAGS.any(Tag::NAME.eq(tag));
        Ok(self.0.table::<Product>()?.set_where(tagged, [Product::PRICE.add(amount)])?)
    }

    fn cancel_and_restore(&mut self, customer: i64, order: i64) -> Outcome<(u64, u64)> {
        let orders = self.0.table::<Order>()?;
        orders.delete(order)?;
        let without = orders.count(Order::CUSTOMER_ID.eq(customer))?;
        orders.restore(order)?;
        Ok((without, orders.count(Order::CUSTOMER_ID.eq(customer))?))
    }
}

fn main() -> Outcome<()> {
    peers_common::run::<BobakShop>()
}
