//! Queues by row locks: several workers, each job once.

use bobak::RowLock;
use bobak::prelude::*;

#[derive(Record, Debug, Clone)]
#[record(index(done, id))]
struct Job {
    id: i64,
    done: bool,
    runs: i64,
}

/// Does the next free job; returns its key.
fn work(db: &Db) -> bobak::Result<Option<i64>> {
    db.transaction(|transaction| {
        let jobs = transaction.table::<Job>()?;
        let next = Query::filter(Job::DONE.eq(false)).limit(1).lock(RowLock::SkipLocked);
        let Some(mut job) = jobs.first(next)? else { return Ok(None) };
        job.done = true;
        job.runs += 1;
        jobs.update(&job)?;
        Ok(Some(job.id))
    })
}

fn each_job_runs_once(url: &str) {
    let db = Db::builder().record::<Job>().retries(100).open(url).unwrap();
    db.create_missing_tables().unwrap();
    for _ in 0..30 {
        db.table().unwrap().insert(&Job { id: 0, done: false, runs: 0 }).unwrap();
    }
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let db = db.clone();
            std::thread::spawn(move || std::iter::from_fn(|| work(&db).unwrap()).count())
        })
        .collect();
    let done: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    assert_eq!(done, 30, "{url}");
    let jobs = db.table::<Job>().unwrap();
    assert_eq!(jobs.count(Job::RUNS.eq(1).and(Job::DONE.eq(true))).unwrap(), 30, "{url}");
    locks_are_checked(&db);
}

fn locks_are_checked(db: &Db) {
    let jobs = db.table::<Job>().unwrap();
    let kind = |result: bobak::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(jobs.list(Query::all().for_update()).map(drop)), ErrorKind::Misuse);
    assert_eq!(kind(jobs.iter(Query::all().for_update()).map(drop)), ErrorKind::Misuse);
    let transaction = db.begin().unwrap();
    let jobs = transaction.table::<Job>().unwrap();
    assert_eq!(jobs.list(Query::all().for_update()).unwrap().len(), 30);
    let iterated = jobs.iter(Query::all().lock(RowLock::NoWait)).unwrap();
    assert_eq!(iterated.collect::<bobak::Result<Vec<_>>>().unwrap().len(), 30);
    assert_eq!(kind(jobs.count(Query::all().for_update()).map(drop)), ErrorKind::Unsupported);
    let sum = jobs.sum(Query::all().for_update(), Job::RUNS);
    assert_eq!(kind(sum.map(drop)), ErrorKind::Unsupported);
    transaction.commit().unwrap();
}

#[test]
fn a_queue_in_memory_and_in_a_file() {
    each_job_runs_once("memory:");
    let folder = tempfile::tempdir().unwrap();
    each_job_runs_once(&format!("sqlite:{}", folder.path().join("a.db").display()));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn a_queue_on_servers() {
    crate::engines::on_servers(each_job_runs_once);
}
