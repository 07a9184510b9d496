//! Entities with their relations, and what a page shows.

use serde::Serialize;

pub mod user {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "user")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: i64,
        #[sea_orm(unique)]
        pub name: String,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod follow {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "follow")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub reader_id: i64,
        #[sea_orm(primary_key, auto_increment = false, indexed)]
        pub author_id: i64,
        #[sea_orm(
            belongs_to,
            relation_enum = "Reader",
            from = "reader_id",
            to = "id",
            on_delete = "Cascade"
        )]
        pub reader: BelongsTo<super::user::Entity>,
        #[sea_orm(
            belongs_to,
            relation_enum = "Author",
            from = "author_id",
            to = "id",
            on_delete = "Cascade"
        )]
        pub author: BelongsTo<super::user::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod article {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "article")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: i64,
        #[sea_orm(unique)]
        pub slug: String,
        #[sea_orm(indexed)]
        pub author_id: i64,
        #[sea_orm(belongs_to, from = "author_id", to = "id")]
        pub author: BelongsTo<super::user::Entity>,
        #[sea_orm(has_many)]
        pub tags: HasMany<super::article_tag::Entity>,
        #[sea_orm(has_many)]
        pub favorites: HasMany<super::favorite::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod article_tag {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "article_tag")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub article_id: i64,
        #[sea_orm(primary_key, auto_increment = false, indexed)]
        pub tag: String,
        #[sea_orm(belongs_to, from = "article_id", to = "id", on_delete = "Cascade")]
        pub article: BelongsTo<super::article::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

pub mod favorite {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "favorite")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub article_id: i64,
        #[sea_orm(primary_key, auto_increment = false)]
        pub user_id: i64,
        #[sea_orm(belongs_to, from = "article_id", to = "id", on_delete = "Cascade")]
        pub article: BelongsTo<super::article::Entity>,
        #[sea_orm(belongs_to, from = "user_id", to = "id", on_delete = "Cascade")]
        pub user: BelongsTo<super::user::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

#[derive(Serialize)]
pub struct ProfileView {
    pub name: String,
    pub is_following: bool,
}

#[derive(Serialize)]
pub struct ArticleView {
    pub slug: String,
    pub author: ProfileView,
    pub tags: Vec<String>,
    pub favorites: i64,
    pub is_favorite: bool,
}
