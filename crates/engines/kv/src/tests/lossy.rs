//! A file in memory that knows what a power cut may leave of it.

use redb::StorageBackend;
use std::io;
use std::sync::{Arc, Mutex};

/// The size of what a disk writes as a whole.
const SECTOR: usize = 512;

/// A file that a power cut at random moments loses unsynced writes of.
#[derive(Clone, Debug)]
pub struct LossyFile(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    now: Vec<u8>,
    synced: Vec<u8>,
    /// What happened since the last sync.
    unsynced: Vec<Change>,
    random: Random,
    /// Files as power cuts would leave them, with the mark of that moment.
    cuts: Vec<(Vec<u8>, u64)>,
    mark: u64,
}

#[derive(Clone, Debug)]
enum Change {
    Length(usize),
    Write(usize, Vec<u8>),
}

/// SplitMix64.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

impl LossyFile {
    pub fn new(content: Vec<u8>, seed: u64) -> Self {
        let (synced, unsynced, cuts) = (content.clone(), Vec::new(), Vec::new());
        let random = Random(seed);
        Self(Arc::new(Mutex::new(State { now: content, synced, unsynced, random, cuts, mark: 0 })))
    }

    /// What a later power cut is compared with.
    pub fn set_mark(&self, mark: u64) {
        self.0.lock().unwrap().mark = mark;
    }

    /// The files that power cuts would have left, each with the mark that held then.
    pub fn take_cuts(&self) -> Vec<(Vec<u8>, u64)> {
        std::mem::take(&mut self.0.lock().unwrap().cuts)
    }
}

impl State {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.now, SECTOR, &mut Random(1));
        self.unsynced.push(change);
        if self.random.below(6) == 0 {
            self.cut();
        }
    }

    /// Keeps a file with some of the unsynced changes, in parts.
    fn cut(&mut self) {
        let mut left = self.synced.clone();
        for change in &self.unsynced {
            match self.random.below(3) {
                0 => {}
                1 => change.apply(&mut left, SECTOR, &mut Random(1)),
                _ => change.apply(&mut left, 0, &mut self.random),
            }
        }
        self.cuts.push((left, self.mark));
    }
}

impl Change {
    /// Applies it; only some sectors of a write if `whole` is 0.
    fn apply(&self, file: &mut Vec<u8>, whole: usize, random: &mut Random) {
        match self {
            Self::Length(length) => file.resize(*length, 0),
            Self::Write(offset, data) => {
                for (number, sector) in data.chunks(SECTOR).enumerate() {
                    let start = offset + number * SECTOR;
                    if file.len() < start + sector.len() {
                        file.resize(start + sector.len(), 0);
                    }
                    if whole > 0 || random.below(2) == 0 {
                        file[start..start + sector.len()].copy_from_slice(sector);
                    }
                }
            }
        }
    }
}

impl StorageBackend for LossyFile {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.0.lock().unwrap().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let state = self.0.lock().unwrap();
        let start = offset as usize;
        out.copy_from_slice(&state.now[start..start + out.len()]);
        Ok(())
    }

    fn set_len(&self, length: u64) -> Result<(), io::Error> {
        self.0.lock().unwrap().change(Change::Length(length as usize));
        Ok(())
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        let mut state = self.0.lock().unwrap();
        state.cut();
        state.synced = state.now.clone();
        state.unsynced.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.0.lock().unwrap().change(Change::Write(offset as usize, data.to_vec()));
        Ok(())
    }
}
