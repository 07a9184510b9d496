//! Entities with their relations, and what pages show.

use sea_orm::FromQueryResult;
use serde::Serialize;

pub mod customer {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "customer")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub name: String,
        #[sea_orm(unique)]
        pub email: String,
        #[sea_orm(indexed)]
        pub city: String,
        #[sea_orm(has_many)]
        pub orders: HasMany<super::order::Entity>,
        #[sea_orm(has_many)]
        pub reviews: HasMany<super::review::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod product {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "product")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        #[sea_orm(indexed)]
        pub name: String,
        pub price: i32,
        #[sea_orm(extra = "CHECK (stock >= 0)")]
        pub stock: i32,
        #[sea_orm(has_many, via = "product_tag")]
        pub tags: HasMany<super::tag::Entity>,
        #[sea_orm(has_many)]
        pub lines: HasMany<super::line::Entity>,
        #[sea_orm(has_many)]
        pub reviews: HasMany<super::review::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod tag {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "tag")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        #[sea_orm(unique)]
        pub name: String,
        #[sea_orm(has_many, via = "product_tag")]
        pub products: HasMany<super::product::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod product_tag {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "product_tag")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub product_id: i64,
        #[sea_orm(primary_key, auto_increment = false, indexed)]
        pub tag_id: i64,
        #[sea_orm(belongs_to, from = "product_id", to = "id", on_delete = "Cascade")]
        pub product: BelongsTo<super::product::Entity>,
        #[sea_orm(belongs_to, from = "tag_id", to = "id")]
        pub tag: BelongsTo<super::tag::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod order {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "orders")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        #[sea_orm(indexed)]
        pub customer_id: i64,
        #[sea_orm(indexed)]
        pub placed: i64,
        pub deleted_at: Option<i64>,
        #[sea_orm(belongs_to, from = "customer_id", to = "id")]
        pub customer: BelongsTo<super::customer::Entity>,
        #[sea_orm(has_many)]
        pub lines: HasMany<super::line::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod line {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "line")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        #[sea_orm(indexed)]
        pub order_id: i64,
        #[sea_orm(indexed)]
        pub product_id: i64,
        pub quantity: i32,
        pub price: i32,
        #[sea_orm(belongs_to, from = "order_id", to = "id", on_delete = "Cascade")]
        pub order: BelongsTo<super::order::Entity>,
        #[sea_orm(belongs_to, from = "product_id", to = "id")]
        pub product: BelongsTo<super::product::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod review {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "review")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        #[sea_orm(indexed)]
        pub product_id: i64,
        #[sea_orm(indexed)]
        pub customer_id: i64,
        pub rating: i32,
        pub body: String,
        pub written: i64,
        #[sea_orm(belongs_to, from = "product_id", to = "id", on_delete = "Cascade")]
        pub product: BelongsTo<super::product::Entity>,
        #[sea_orm(belongs_to, from = "customer_id", to = "id")]
        pub customer: BelongsTo<super::customer::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

#[derive(Serialize)]
pub struct Name {
    pub name: String,
}

#[derive(Serialize)]
pub struct OrderPage {
    pub id: i64,
    pub placed: i64,
    pub customer: Name,
    pub lines: Vec<LinePage>,
}

#[derive(Serialize)]
pub struct LinePage {
    pub quantity: i32,
    pub price: i32,
    pub product: Name,
}

#[derive(Serialize)]
pub struct ProductPage {
    pub name: String,
    pub price: i32,
    pub tags: Vec<String>,
    pub reviews: u64,
    pub latest: Vec<ReviewPage>,
}

#[derive(Serialize)]
pub struct ReviewPage {
    pub author: Name,
    pub rating: i32,
    pub body: String,
}

#[derive(Serialize)]
pub struct Catalogue {
    pub total: u64,
    pub products: Vec<ProductCard>,
}

#[derive(Serialize)]
pub struct ProductCard {
    pub id: i64,
    pub name: String,
    pub price: i32,
    pub reviews: i64,
}

#[derive(FromQueryResult)]
pub struct ReviewCount {
    pub product_id: i64,
    pub reviews: i64,
}
