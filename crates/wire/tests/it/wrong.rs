//! Random and damaged bytes: rejected, or read as something else, and never a panic.

use crate::samples::{person, requests, responses};
use bobak_core::WriteBatch;
use bobak_wire::{
    FrameHeader, HEADER_LENGTH, Handles, Inbox, Limits, Request, Response, read_schema,
};

/// A small generator: the same bytes each time.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn handles() -> Handles {
    let mut handles = Handles::new(&Limits::default());
    handles.define(1, Ok(person()));
    handles.prepare(7, "select ?");
    handles
}

/// Reads a frame in every way that an end could.
fn read(head: FrameHeader, body: &[u8], handles: &Handles) {
    match Request::decode(head, body, handles) {
        Ok(Request::Batch(part)) => drop(part.read_into(&mut WriteBatch::new(), handles)),
        Ok(Request::Define { schema, .. }) => drop(read_schema(schema)),
        _ => {}
    }
    match Response::decode(head, body) {
        Ok(Response::Rows(rows)) => rows.for_each(drop),
        // Damage can make a group of four billion rows: it takes no memory.
        Ok(Response::Outcomes(outcomes)) => outcomes.take(10_000).for_each(drop),
        _ => {}
    }
}

#[test]
fn damaged_frames_do_no_harm() {
    let handles = handles();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for sample in requests().into_iter().chain(responses()) {
        let head =
            FrameHeader::decode(*sample.bytes.first_chunk::<HEADER_LENGTH>().unwrap()).unwrap();
        let body = &sample.bytes[HEADER_LENGTH..];
        for cut in 0..body.len() {
            read(head, &body[..cut], &handles);
        }
        for _ in 0..400 {
            let mut body = body.to_vec();
            damage(&mut body, &mut random);
            read(head, &body, &handles);
        }
    }
}

/// Changes, adds or removes up to four bytes.
pub fn damage(body: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        match random.below(5) {
            0 if !body.is_empty() => {
                let at = random.below(body.len());
                body[at] = random.next() as u8;
            }
            1 if !body.is_empty() => {
                let at = random.below(body.len());
                body[at] ^= 1 << random.below(8);
            }
            2 => body.insert(random.below(body.len() + 1), random.next() as u8),
            3 if !body.is_empty() => drop(body.remove(random.below(body.len()))),
            _ => {
                let at = random.below(body.len().saturating_sub(4));
                let large = [0xff, 0xff, 0xff, 0x7f];
                body.iter_mut().skip(at).zip(large).for_each(|(to, from)| *to = from);
            }
        }
    }
}

#[test]
fn random_bytes_do_no_harm() {
    let handles = handles();
    let mut random = Random(42);
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..random.below(60)).map(|_| random.next() as u8).collect();
        let mut inbox = Inbox::new(1_000);
        inbox.push(&bytes);
        while let Ok(Some(head)) = inbox.next_frame() {
            read(head, inbox.body(), &handles);
        }
        let kind = bobak_wire::FrameKind::ALL[random.below(bobak_wire::FrameKind::ALL.len())];
        let head = FrameHeader { length: bytes.len() as u32, kind, more: false, id: 1 };
        read(head, &bytes, &handles);
    }
}

#[test]
fn conditions_nest_no_deeper_than_is_said() {
    // 300 times "not", and no end.
    let mut body = 1_u32.to_le_bytes().to_vec();
    body.push(1);
    body.extend([8; 300]);
    let head = FrameHeader { length: 0, kind: bobak_wire::FrameKind::Change, more: false, id: 1 };
    let error = Request::decode(head, &body, &handles()).unwrap_err();
    assert!(error.to_string().contains("deeper"), "{error}");
}
