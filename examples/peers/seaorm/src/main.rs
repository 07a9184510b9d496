//! The shop on SeaORM: SQLite and PostgreSQL by the URL.

mod model;

use model::*;
use peers_common::{Outcome, Sample, Shop};
use sea_orm::entity::prelude::*;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{
    Condition, Database, EntityLoaderTrait, JoinType, QueryOrder, QuerySelect, Set,
    TransactionTrait, Unchanged,
};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::runtime::{Builder, Runtime};

/// The rows of one statement: SQLite and PostgreSQL have a maximum number of parameters.
const ROWS: usize = 5_000;

struct SeaShop {
    runtime: Runtime,
    db: DatabaseConnection,
}

/// The keys of the products that have a tag.
fn tagged(tag: &str) -> SelectStatement {
    Query::select()
        .column(product_tag::Column::ProductId)
        .from(product_tag::Entity)
        .inner_join(
            tag::Entity,
            Expr::col((tag::Entity, tag::Column::Id))
                .equals((product_tag::Entity, product_tag::Column::TagId)),
        )
        .and_where(Expr::col((tag::Entity, tag::Column::Name)).eq(tag))
        .to_owned()
}

async fn live_orders(db: &DatabaseConnection, customer: i64) -> Result<u64, DbErr> {
    order::Entity::find()
        .filter(order::Column::CustomerId.eq(customer))
        .filter(order::Column::DeletedAt.is_null())
        .count(db)
        .await
}

impl Shop for SeaShop {
    fn open(url: &str) -> Outcome<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let db = runtime.block_on(async {
            let mut options = sea_orm::ConnectOptions::new(url);
            options.sqlx_logging(false).map_sqlx_sqlite_opts(|options| {
                options
                    .create_if_missing(true)
                    .journal_mode(sea_orm::sqlx::sqlite::SqliteJournalMode::Wal)
                    .synchronous(sea_orm::sqlx::sqlite::SqliteSynchronous::Full)
            });
            let db = Database::connect(options).await?;
            db.get_schema_builder()
                .register(customer::Entity)
                .register(product::Entity)
                .register(tag::Entity)
                .register(product_tag::Entity)
                .register(order::Entity)
                .register(line::Entity)
                .register(review::Entity)
                .apply(&db)
                .await?;
            Ok::<_, DbErr>(db)
        })?;
        Ok(Self { runtime, db })
    }

    fn fill(&mut self, sample: &Sample) -> Outcome<()> {
        let customers = sample.customers.iter().map(|(name, email, city)| customer::ActiveModel {
            name: Set(name.clone()),
            email: Set(email.clone()),
            city: Set(city.clone()),
            ..Default::default()
        });
        let tags = sample
            .tags
            .iter()
            .map(|name| tag::ActiveModel { name: Set(name.clone()), ..Default::default() });
        let products = sample.products.iter().map(|product| product::ActiveModel {
            name: Set(product.name.clone()),
            price: Set(product.price),
            stock: Set(product.stock),
            ..Default::default()
        });
        let links = (1..).zip(&sample.products).flat_map(|(product_id, product)| {
            let tags = product.tags.iter();
            tags.map(move |&tag_id| product_tag::ActiveModel {
                product_id: Set(product_id),
                tag_id: Set(tag_id),
            })
        });
        let orders = sample.orders.iter().map(|order| order::ActiveModel {
            customer_id: Set(order.customer),
            placed: Set(order.placed),
            ..Default::default()
        });
        let lines = (1..).zip(&sample.orders).flat_map(|(order_id, order)| {
            order.lines.iter().map(move |&(product_id, quantity, price)| line::ActiveModel {
                order_id: Set(order_id),
                product_id: Set(product_id),
                quantity: Set(quantity),
                price: Set(price),
                ..Default::default()
            })
        });
        let lines: Vec<_> = lines.collect();
        let reviews =
            sample.reviews.iter().map(|&(product_id, customer_id, rating, ref body, written)| {
                review::ActiveModel {
                    product_id: Set(product_id),
                    customer_id: Set(customer_id),
                    rating: Set(rating),
                    body: Set(body.clone()),
                    written: Set(written),
                    ..Default::default()
                }
            });
        self.runtime.block_on(async {
            let transaction = self.db.begin().await?;
            customer::Entity::insert_many(customers).exec(&transaction).await?;
            tag::Entity::insert_many(tags).exec(&transaction).await?;
            product::Entity::insert_many(products).exec(&transaction).await?;
            product_tag::Entity::insert_many(links).exec(&transaction).await?;
            order::Entity::insert_many(orders).exec(&transaction).await?;
            for part in lines.chunks(ROWS) {
                line::Entity::insert_many(part.iter().cloned()).exec(&transaction).await?;
            }
            review::Entity::insert_many(reviews).exec(&transaction).await?;
            transaction.commit().await
        })?;
        Ok(())
    }

    fn place_order(&mut self, customer_id: i64, placed: i64, items: &[(i64, i32)]) -> Outcome<i64> {
        let id = self.runtime.block_on(async {
            let transaction = self.db.begin().await?;
            let keys = items.iter().map(|(product, _)| *product);
            let products = product::Entity::find()
                .filter(product::Column::Id.is_in(keys))
                .all(&transaction)
                .await?;
            let prices: HashMap<i64, i32> =
                products.iter().map(|product| (product.id, product.price)).collect();
            let order = order::ActiveModel {
                customer_id: Set(customer_id),
                placed: Set(placed),
                ..Default::default()
            };
            let order_id = order::Entity::insert(order).exec(&transaction).await?.last_insert_id;
            let mut lines = Vec::new();
            for &(product_id, quantity) in items {
                let price = *prices
                    .get(&product_id)
                    .ok_or_else(|| DbErr::RecordNotFound(format!("no product {product_id}")))?;
                product::Entity::update_many()
                    .col_expr(
                        product::Column::Stock,
                        Expr::col(product::Column::Stock).sub(quantity),
                    )
                    .filter(product::Column::Id.eq(product_id))
                    .exec(&transaction)
                    .await?;
                lines.push(line::ActiveModel {
                    order_id: Set(order_id),
                    product_id: Set(product_id),
                    quantity: Set(quantity),
                    price: Set(price),
                    ..Default::default()
                });
            }
            line::Entity::insert_many(lines).exec(&transaction).await?;
            transaction.commit().await?;
            Ok::<_, DbErr>(order_id)
        })?;
        Ok(id)
    }

    fn orders_of_city(&mut self, city: &str) -> Outcome<impl Serialize> {
        let mut pages = Vec::new();
        let latest = order::Entity::load()
            .filter(customer::Column::City.eq(city))
            .filter(order::Column::DeletedAt.is_null())
            .order_by_desc(order::Column::Placed)
            .order_by_desc(order::Column::Id)
            .with(customer::Entity)
            .with((line::Entity, product::Entity));
        let orders = self.runtime.block_on(latest.paginate(&self.db, 20).fetch())?;
        for order in orders {
            let customer = order.customer.into_option().ok_or("an order without a customer")?;
            let mut lines = Vec::new();
            for line in order.lines {
                let product = line.product.into_option().ok_or("a line without a product")?;
                let product = Name { name: product.name };
                lines.push(LinePage { quantity: line.quantity, price: line.price, product });
            }
            pages.push(OrderPage {
                id: order.id,
                placed: order.placed,
                customer: Name { name: customer.name },
                lines,
            });
        }
        Ok(pages)
    }

    fn product_page(&mut self, product: i64) -> Outcome<impl Serialize> {
        let page = self.runtime.block_on(async {
            let Some(found) = product::Entity::find_by_id(product).one(&self.db).await? else {
                return Ok(None);
            };
            let tags = found
                .find_related(tag::Entity)
                .order_by_asc(tag::Column::Name)
                .all(&self.db)
                .await?;
            let of_product =
                || review::Entity::find().filter(review::Column::ProductId.eq(product));
            let reviews = of_product().count(&self.db).await?;
            let latest = of_product()
                .find_also_related(customer::Entity)
                .order_by_desc(review::Column::Id)
                .limit(5)
                .all(&self.db)
                .await?;
            let latest = latest.into_iter().filter_map(|(review, author)| {
                let author = Name { name: author?.name };
                Some(ReviewPage { author, rating: review.rating, body: review.body })
            });
            Ok::<_, DbErr>(Some(ProductPage {
                name: found.name,
                price: found.price,
                tags: tags.into_iter().map(|tag| tag.name).collect(),
                reviews,
                latest: latest.collect(),
            }))
        })?;
        Ok(page)
    }

    fn catalogue(&mut self, tag: &str, price: i32, page: u64) -> Outcome<impl Serialize> {
        let catalogue = self.runtime.block_on(async {
            let filter = Condition::all()
                .add(product::Column::Id.in_subquery(tagged(tag)))
                .add(product::Column::Price.lte(price));
            let pages = product::Entity::find()
                .filter(filter)
                .order_by_asc(product::Column::Name)
                .order_by_asc(product::Column::Id)
                .paginate(&self.db, 20);
            let total = pages.num_items().await?;
            let products = pages.fetch_page(page).await?;
            let counts = review::Entity::find()
                .select_only()
                .column(review::Column::ProductId)
                .column_as(review::Column::Id.count(), "reviews")
                .filter(review::Column::ProductId.is_in(products.iter().map(|product| product.id)))
                .group_by(review::Column::ProductId)
                .into_model::<ReviewCount>()
                .all(&self.db)
                .await?;
            let counts: HashMap<i64, i64> =
                counts.into_iter().map(|one| (one.product_id, one.reviews)).collect();
            let card = |product: product::Model| {
                let reviews = counts.get(&product.id).copied().unwrap_or(0);
                ProductCard { id: product.id, name: product.name, price: product.price, reviews }
            };
            Ok::<_, DbErr>(Catalogue { total, products: products.into_iter().map(card).collect() })
        })?;
        Ok(catalogue)
    }

    fn best_customers(&mut self, city: &str) -> Outcome<Vec<(String, Option<i64>)>> {
        let amount = || {
            Expr::col((line::Entity, line::Column::Price))
                .mul(Expr::col((line::Entity, line::Column::Quantity)))
        };
        let best = order::Entity::find()
            .select_only()
            .column(customer::Column::Name)
            .column_as(amount().sum(), "spent")
            .join(JoinType::InnerJoin, order::Relation::Customer.def())
            .join(JoinType::InnerJoin, order::Relation::Line.def())
            .filter(customer::Column::City.eq(city))
            .filter(order::Column::DeletedAt.is_null())
            .group_by(customer::Column::Id)
            .group_by(customer::Column::Name)
            .order_by_desc(amount().sum())
            .order_by_asc(customer::Column::Id)
            .limit(10)
            .into_tuple();
        Ok(self.runtime.block_on(best.all(&self.db))?)
    }

    fn review(
        &mut self,
        product_id: i64,
        customer_id: i64,
        rating: i32,
        body: &str,
        written: i64,
    ) -> Outcome<Vec<String>> {
        let body = body.trim();
        let mut wrong = Vec::new();
        if !(1..=5).contains(&rating) {
            wrong.push("rating".to_owned());
        }
        if !(1..=200).contains(&body.chars().count()) {
            wrong.push("body".to_owned());
        }
        if wrong.is_empty() {
            let review = review::ActiveModel {
                product_id: Set(product_id),
                customer_id: Set(customer_id),
                rating: Set(rating),
                body: Set(body.to_owned()),
                written: Set(written),
                ..Default::default()
            };
            self.runtime.block_on(review::Entity::insert(review).exec(&self.db))?;
        }
        Ok(wrong)
    }

    fn retag(&mut self, product: i64, tags: &[i64]) -> Outcome<(u64, u64)> {
        let changed = self.runtime.block_on(async {
            let transaction = self.db.begin().await?;
            let of_product = product_tag::Column::ProductId.eq(product);
            let old =
                product_tag::Entity::find().filter(of_product.clone()).all(&transaction).await?;
            let old: HashSet<i64> = old.into_iter().map(|link| link.tag_id).collect();
            let wanted: HashSet<i64> = tags.iter().copied().collect();
            let removed = product_tag::Entity::delete_many()
                .filter(of_product)
                .filter(product_tag::Column::TagId.is_in(old.difference(&wanted).copied()))
                .exec(&transaction)
                .await?
                .rows_affected;
            let new: Vec<_> = wanted
                .difference(&old)
                .map(|&tag_id| product_tag::ActiveModel {
                    product_id: Set(product),
                    tag_id: Set(tag_id),
                })
                .collect();
            let added = new.len() as u64;
            product_tag::Entity::insert_many(new).exec(&transaction).await?;
            transaction.commit().await?;
            Ok::<_, DbErr>((added, removed))
        })?;
        Ok(changed)
    }

    fn raise_prices(&mut self, tag: &str, amount: i32) -> Outcome<u64> {
        let update = product::Entity::update_many()
            .col_expr(product::Column::Price, Expr::col(product::Column::Price).add(amount))
            .filter(product::Column::Id.in_subquery(tagged(tag)));
        Ok(self.runtime.block_on(update.exec(&self.db))?.rows_affected)
    }

    fn cancel_and_restore(&mut self, customer: i64, order: i64) -> Outcome<(u64, u64)> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs().cast_signed();
        let counts = self.runtime.block_on(async {
            order::Entity::update_many()
                .col_expr(order::Column::DeletedAt, Expr::value(now))
                .filter(order::Column::Id.eq(order))
                .filter(order::Column::DeletedAt.is_null())
                .exec(&self.db)
                .await?;
            let without = live_orders(&self.db, customer).await?;
            let restored = order::ActiveModel {
                id: Unchanged(order),
                deleted_at: Set(None),
                ..Default::default()
            };
            order::Entity::update(restored).exec(&self.db).await?;
            Ok::<_, DbErr>((without, live_orders(&self.db, customer).await?))
        })?;
        Ok(counts)
    }
}

fn main() -> Outcome<()> {
    peers_common::run::<SeaShop>()
}
