use bobak::prelude::*;
use bobak::relation::ToMany;

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "auth_user", never_reuse_keys)]
pub struct AuthUser {
    pub id: i64,
    #[record(max = 128)]
    pub password: String,
    pub last_login: Option<String>, // declared datetime: holds texts
    pub is_superuser: bool,
    #[record(max = 150, unique)]
    pub username: String,
    pub date_joined: String, // declared datetime: holds texts
}

#[allow(dead_code)]
impl AuthUser {
    pub const SHOP_ORDER: ToMany<Self, ShopOrder> = ShopOrder::USER.inverse();
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "posts", never_reuse_keys)]
pub struct Post {
    pub id: i64,
    #[record(default = "new")]
    pub title: String,
    #[record(default = false)]
    pub published: bool,
    #[record(default = 0.0)]
    pub rating: f64, // declared decimal(3,1): holds numbers
    pub meta: Option<Json<serde_json::Value>>,
    #[record(store = "text")]
    pub day: Option<Date>,
    pub views: Option<i64>, // declared numeric(10,0): holds integers
    #[record(store = "text")]
    pub seen: Option<Timestamp>,
    pub blank: Value<'static>, // declared datetime(6): holds values of any type
    pub created_at: String, // declared datetime(6): holds texts
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "schema_migrations")]
pub struct SchemaMigration {
    #[record(key)]
    pub version: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "shop_order", never_reuse_keys, index(user_id, name = "shop_order_user_id_1"))]
pub struct ShopOrder {
    pub id: i64,
    #[record(store = "text")]
    pub placed: Date,
    pub total: f64, // declared decimal: holds numbers
    pub paid: bool,
    #[record(max = 32)]
    pub token: String,
    #[record(check = "(JSON_VALID(\"extra\") OR \"extra\" IS NULL)")]
    pub extra: String,
    #[record(check = "quantity >= 0")]
    pub quantity: i64,
    pub took: Option<i64>,
    pub opens: Option<String>, // declared time: holds texts
    #[record(references = AuthUser, on_delete = "no_action", deferred)]
    pub user_id: i64,
}
