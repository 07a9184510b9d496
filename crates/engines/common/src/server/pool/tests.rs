use super::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[derive(Default)]
struct Counter {
    opened: AtomicUsize,
    fails: AtomicBool,
    is_stale: AtomicBool,
}

struct Numbered {
    number: usize,
    is_broken: bool,
}

impl Connector for Counter {
    type Connection = Numbered;

    fn connect(&self) -> Result<Numbered> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unreachable, "down"));
        }
        let number = self.opened.fetch_add(1, Ordering::SeqCst);
        Ok(Numbered { number, is_broken: false })
    }

    fn is_usable(&self, _: &mut Numbered, _: Duration) -> bool {
        !self.is_stale.swap(false, Ordering::SeqCst)
    }

    fn is_reusable(&self, connection: &mut Numbered) -> bool {
        !connection.is_broken
    }
}

fn pool(max_connections: usize) -> Pool<Counter> {
    let acquire_timeout = Duration::from_millis(20);
    let settings = PoolSettings { max_connections, acquire_timeout, idle_timeout: None };
    Pool::new(Counter::default(), settings)
}

fn open(pool: &Pool<Counter>) -> usize {
    pool.lock().open
}

#[test]
fn most_recently_used_connection_is_reused() {
    let pool = pool(3);
    let (first, second) = (pool.acquire().unwrap(), pool.acquire().unwrap());
    assert_eq!((first.number, second.number), (0, 1));
    assert!(!first.is_reused());
    drop(second);
    drop(first);
    let reused = pool.acquire().unwrap();
    assert!(reused.number == 0 && reused.is_reused());
    assert_eq!(open(&pool), 2);
}

#[test]
fn limit_is_kept_and_waiting_ends_in_busy() {
    let pool = pool(1);
    let held = pool.acquire().unwrap();
    assert_eq!(pool.acquire().err().map(|e| e.kind()), Some(ErrorKind::Busy));
    assert_eq!(pool.try_acquire().err().map(|e| e.kind()), Some(ErrorKind::Busy));
    drop(held);
    assert!(pool.try_acquire().is_ok());
}

#[test]
fn broken_and_discarded_connections_are_closed() {
    let pool = pool(1);
    let mut broken = pool.acquire().unwrap();
    broken.is_broken = true;
    drop(broken);
    assert_eq!(open(&pool), 0);
    pool.acquire().unwrap().discard();
    assert_eq!(open(&pool), 0);
    assert_eq!(pool.acquire().unwrap().number, 2);
}

#[test]
fn stale_connection_is_replaced() {
    let pool = pool(1);
    drop(pool.acquire().unwrap());
    pool.connector().is_stale.store(true, Ordering::SeqCst);
    assert_eq!(pool.acquire().unwrap().number, 1);
    assert_eq!(open(&pool), 1);
}

#[test]
fn failed_connect_gives_its_place_up() {
    let pool = pool(1);
    pool.connector().fails.store(true, Ordering::SeqCst);
    assert_eq!(pool.acquire().err().map(|e| e.kind()), Some(ErrorKind::Unreachable));
    assert_eq!(open(&pool), 0);
    pool.connector().fails.store(false, Ordering::SeqCst);
    let mut held = pool.acquire().unwrap();
    held.reconnect().unwrap();
    assert_eq!((held.number, open(&pool)), (1, 1));
    pool.connector().fails.store(true, Ordering::SeqCst);
    assert!(held.reconnect().is_err());
    drop(held);
    assert_eq!(open(&pool), 0);
}

#[test]
fn idle_connections_are_closed() {
    let mut pool = pool(3);
    pool.settings.idle_timeout = Some(Duration::from_millis(5));
    let (first, second) = (pool.acquire().unwrap(), pool.acquire().unwrap());
    drop(first);
    std::thread::sleep(Duration::from_millis(10));
    drop(second);
    assert_eq!(open(&pool), 1);
    pool.close_idle(|connection| connection.number == 0);
    assert_eq!(open(&pool), 1);
    pool.close_idle(|connection| connection.number == 1);
    assert_eq!(open(&pool), 0);
}

#[test]
fn detached_connection_comes_back_through_its_place() {
    let pool = Arc::new(pool(1));
    let mut held = pool.acquire_owned().unwrap();
    let connection = held.detach().unwrap();
    assert!(held.detach().is_none());
    held.attach(connection);
    drop(held);
    assert_eq!((open(&pool), pool.lock().idle.len()), (1, 1));
    let mut lost = pool.acquire_owned().unwrap();
    drop(lost.detach());
    drop(lost);
    assert_eq!(open(&pool), 0);
}

#[test]
fn entry_is_rejected_until_waiters_are_woken() {
    let mut pool = pool(1);
    pool.settings.acquire_timeout = Duration::from_secs(30);
    let may_enter = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let entered = pool.acquire_if(|| Ok(may_enter.load(Ordering::SeqCst)));
            entered.map(|connection| connection.number)
        });
        std::thread::sleep(Duration::from_millis(5));
        may_enter.store(true, Ordering::SeqCst);
        pool.wake_waiters();
        assert_eq!(waiting.join().unwrap().unwrap(), 0);
    });
    let rejected = || Err(Error::new(ErrorKind::Misuse, "no"));
    assert_eq!(pool.acquire_if(rejected).err().map(|e| e.kind()), Some(ErrorKind::Misuse));
}

#[test]
fn threads_share_connections_without_exceeding_the_limit() {
    let mut pool = pool(3);
    pool.settings.acquire_timeout = Duration::from_secs(30);
    let in_use = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (pool, in_use) = (&pool, &in_use);
            scope.spawn(move || {
                for turn in 0..200 {
                    let mut held = pool.acquire().unwrap();
                    assert!(in_use.fetch_add(1, Ordering::SeqCst) < 3);
                    held.is_broken = (turn + thread) % 17 == 0;
                    in_use.fetch_sub(1, Ordering::SeqCst);
                }
            });
        }
    });
    let state = pool.lock();
    assert!(state.open == state.idle.len() && state.open <= 3);
}
