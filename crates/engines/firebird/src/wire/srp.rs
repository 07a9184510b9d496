//! Authentication by the plugins `Srp` and `Srp256`, and the cipher `Arc4`.
//!
//! Firebird's SRP differs from RFC 5054: the proof has a power of two hashes where the RFC has their exclusive or, numbers are
//! hashed without leading zeros, and only the proof's outer hash is SHA-256 in `Srp256`.

use num_bigint::BigUint;
use sha1::{Digest, Sha1};
use sha2::Sha256;

const PRIME: &[u8] = b"E67D2E994B2F900C3F41F08F5BB2627ED0D49EE1FE767A52EFCD565CD6E768812C3E1E9CE8F0A8BEA6CB13CD29DDEBF7A96D4A93B55D488DF099A15C89DCB0640738EB2CBDD9A8F7BAB561AB1B0DC1C6CDABF303264A08D1BCA932D1F1EE428B619D970F342ABA9A65793B8B2F041AE5364350C16F735F56ECBCA87BD57B29E7";
const MULTIPLIER: &[u8] = b"1277432915985975349439481660349303019122249719989";

/// The client's side of one login.
pub(super) struct Srp {
    prime: BigUint,
    generator: BigUint,
    secret: BigUint,
    public: BigUint,
}

impl Srp {
    /// `None` if the system gives no random bytes.
    pub fn new() -> Option<Self> {
        let mut random = [0_u8; 32];
        getrandom::fill(&mut random).ok()?;
        Self::with_secret(&random)
    }

    fn with_secret(secret: &[u8]) -> Option<Self> {
        let prime = BigUint::parse_bytes(PRIME, 16)?;
        let generator = BigUint::from(2_u8);
        let secret = BigUint::from_bytes_be(secret);
        let public = generator.modpow(&secret, &prime);
        Some(Self { prime, generator, secret, public })
    }

    /// The public key, in hexadecimal.
    pub fn public_key(&self) -> String {
        self.public.to_str_radix(16)
    }

    /// The proof that the client knows the password, in hexadecimal, and the session's key. `None` for an reply that is not
    /// the server's half of SRP.
    pub fn prove(
        &self,
        plugin: &str,
        user: &str,
        password: &str,
        reply: &[u8],
    ) -> Option<(String, Vec<u8>)> {
        let (salt, rest) = prefixed(reply)?;
        let (server, _) = prefixed(rest)?;
        let server = BigUint::parse_bytes(server, 16)?;
        let zero = BigUint::ZERO;
        let scramble = number(&[&self.public.to_bytes_be(), &server.to_bytes_be()]);
        if &server % &self.prime == zero || scramble == zero {
            return None;
        }
        let inner = hash(&[user.as_bytes(), b":", password.as_bytes()]);
        let x = number(&[salt, &inner]);
        let multiplier = BigUint::parse_bytes(MULTIPLIER, 10)?;
        let verifier = multiplier * self.generator.modpow(&x, &self.prime) % &self.prime;
        let base = (&server + &self.prime - verifier) % &self.prime;
        let power = (&self.secret + scramble * x) % &self.prime;
        let key = hash(&[&base.modpow(&power, &self.prime).to_bytes_be()]);
        let group = number(&[&self.prime.to_bytes_be()])
            .modpow(&number(&[&self.generator.to_bytes_be()]), &self.prime);
        let (group, name) = (group.to_bytes_be(), number(&[user.as_bytes()]).to_bytes_be());
        let (public, server) = (self.public.to_bytes_be(), server.to_bytes_be());
        let parts: [&[u8]; 6] = [&group, &name, salt, &public, &server, &key];
        let proof = match plugin {
            "Srp256" => {
                let mut digest = Sha256::new();
                parts.iter().for_each(|part| digest.update(part));
                digest.finalize().to_vec()
            }
            _ => hash(&parts),
        };
        Some((proof.iter().map(|byte| format!("{byte:02x}")).collect(), key))
    }
}

fn hash(parts: &[&[u8]]) -> Vec<u8> {
    let mut digest = Sha1::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().to_vec()
}

fn number(parts: &[&[u8]]) -> BigUint {
    BigUint::from_bytes_be(&hash(parts))
}

/// A part after its length of two bytes, and the rest.
fn prefixed(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
}

/// The stream cipher of one direction.
pub(super) struct Arc4 {
    state: [u8; 256],
    i: u8,
    j: u8,
}

impl Arc4 {
    pub fn new(key: &[u8]) -> Self {
        let mut state = [0; 256];
        (0_u8..=255).zip(&mut state).for_each(|(byte, place)| *place = byte);
        let mut j = 0_u8;
        for (i, byte) in (0_u8..=255).zip(key.iter().cycle()) {
            j = j.wrapping_add(state[usize::from(i)]).wrapping_add(*byte);
            state.swap(usize::from(i), usize::from(j));
        }
        Self { state, i: 0, j: 0 }
    }

    pub fn apply(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            self.i = self.i.wrapping_add(1);
            let at_i = self.state[usize::from(self.i)];
            self.j = self.j.wrapping_add(at_i);
            let at_j = self.state[usize::from(self.j)];
            self.state.swap(usize::from(self.i), usize::from(self.j));
            *byte ^= self.state[usize::from(at_i.wrapping_add(at_j))];
        }
    }
}

impl std::fmt::Debug for Arc4 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Arc4")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cipher_is_that_of_the_test_vectors() {
        let mut text = *b"Plaintext";
        Arc4::new(b"Key").apply(&mut text);
        assert_eq!(text, [0xbb, 0xf3, 0x16, 0xe8, 0xd9, 0x40, 0xaf, 0x0a, 0xd3]);
    }

    #[test]
    fn a_malformed_reply_is_rejected() {
        let srp = Srp::with_secret(&[7; 32]).unwrap();
        for reply in
            [&b""[..], b"\x02", b"\x01\x00s", b"\x01\x00s\x02\x00zz", b"\x01\x00s\x01\x000"]
        {
            assert!(srp.prove("Srp", "USER", "secret", reply).is_none(), "{reply:?}");
        }
        let reply = b"\x04\x00salt\x03\x00abc";
        let (proof, key) = srp.prove("Srp", "USER", "secret", reply).unwrap();
        assert_eq!((proof.len(), key.len()), (40, 20));
        assert_eq!(srp.prove("Srp256", "USER", "secret", reply).unwrap().0.len(), 64);
    }
}
