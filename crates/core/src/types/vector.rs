//! Vectors of floats in a column: embeddings of texts, images and the like.

use crate::{Error, ErrorKind, Field, Result, Type, Value, ValueRef};
use serde_core::de::Error as _;
use serde_core::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::ops::Deref;

/// A vector of `N` finite floats, 1 to 65,535: the type of a column whose rows can be found by their distance.
///
/// It is stored as `4 * N` bytes: each number as an `f32`, the lowest byte first.
///
/// ```
/// use bobak_core::{ErrorKind, Vector};
///
/// let vector = Vector::from([0.5, -1.0, 2.0]);
/// assert_eq!(vector[2], 2.0);
/// let error = Vector::<3>::try_from(vec![0.5_f32, -1.0]).unwrap_err();
/// assert_eq!(error.to_string(), "the vector has 2 numbers, and its column has 3");
/// ```
///
/// NaN and infinities can't be stored, nor compared with:
///
/// ```
/// # use bobak_core::{ErrorKind, Field, Vector};
/// let error = Vector::from([0.5, f32::NAN]).to_value().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::OutOfRange);
/// assert_eq!(error.to_string(), "number 2 of the vector is NaN: its numbers must be finite");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Vector<const N: usize>(Box<[f32]>);

impl<const N: usize> Vector<N> {
    /// The number of its numbers, as the column's type has it.
    const DIMENSIONS: u16 = {
        assert!(N > 0 && N <= u16::MAX as usize, "a vector has 1 to 65,535 numbers");
        N as u16
    };

    /// The numbers.
    #[must_use]
    pub fn into_vec(self) -> Vec<f32> {
        self.0.into_vec()
    }
}

impl<const N: usize> Default for Vector<N> {
    /// Zeros.
    fn default() -> Self {
        Self(vec![0.0; usize::from(Self::DIMENSIONS)].into())
    }
}

impl<const N: usize> Deref for Vector<N> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl<const N: usize> From<[f32; N]> for Vector<N> {
    fn from(numbers: [f32; N]) -> Self {
        Self(numbers.into())
    }
}

impl<const N: usize> TryFrom<Vec<f32>> for Vector<N> {
    type Error = Error;

    /// # Errors
    /// `Mismatch` for another number of numbers.
    fn try_from(numbers: Vec<f32>) -> Result<Self> {
        check_length(numbers.len(), Self::DIMENSIONS)?;
        Ok(Self(numbers.into()))
    }
}

impl<const N: usize> TryFrom<&[f32]> for Vector<N> {
    type Error = Error;

    /// # Errors
    /// `Mismatch` for another number of numbers.
    fn try_from(numbers: &[f32]) -> Result<Self> {
        numbers.to_vec().try_into()
    }
}

impl<const N: usize> Field for Vector<N> {
    const TYPE: Type = Type::Vector(Self::DIMENSIONS);

    /// # Errors
    /// `OutOfRange` for NaN and infinities.
    fn to_value(&self) -> Result<Value<'_>> {
        check_finite(self.iter().copied())?;
        Ok(Value::Bytes(Cow::Owned(vector_bytes(self))))
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        Ok(Self(numbers_of(value, Self::DIMENSIONS)?.collect()))
    }

    fn read_from(&mut self, value: ValueRef<'_>) -> Result<()> {
        let numbers = numbers_of(value, Self::DIMENSIONS)?;
        self.0.iter_mut().zip(numbers).for_each(|(own, number)| *own = number);
        Ok(())
    }
}

/// An array of numbers, in records that serde serializes.
impl<const N: usize> Serialize for Vector<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, const N: usize> Deserialize<'de> for Vector<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Vec::deserialize(deserializer)?.try_into().map_err(D::Error::custom)
    }
}

/// The stored form of a vector.
#[must_use]
pub fn vector_bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The numbers of a vector in its stored form.
pub fn vector_numbers(bytes: &[u8]) -> impl ExactSizeIterator<Item = f32> + '_ {
    bytes.as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number))
}

/// Checks that a value is the stored form of a vector with so many numbers.
///
/// # Errors
/// `Mismatch` for another length; `OutOfRange` for NaN and infinities.
pub(crate) fn check_vector(bytes: &[u8], dimensions: u16) -> Result<()> {
    check_finite(numbers_of(ValueRef::Bytes(bytes), dimensions)?)
}

/// Checks the numbers of a vector.
///
/// # Errors
/// `OutOfRange` for NaN and infinities.
pub(crate) fn check_finite(mut numbers: impl Iterator<Item = f32>) -> Result<()> {
    let mut place = 0;
    let wrong = numbers.find(|number| {
        place += 1;
        !number.is_finite()
    });
    wrong.map_or(Ok(()), |number| {
        let message =
            format!("number {place} of the vector is {number}: its numbers must be finite");
        Err(Error::new(ErrorKind::OutOfRange, message))
    })
}

/// Checks that a vector has as many numbers as its column.
///
/// # Errors
/// `Mismatch`.
pub(crate) fn check_length(numbers: usize, dimensions: u16) -> Result<()> {
    if numbers == usize::from(dimensions) {
        return Ok(());
    }
    let noun = if numbers == 1 { "number" } else { "numbers" };
    let message = format!("the vector has {numbers} {noun}, and its column has {dimensions}");
    Err(Error::new(ErrorKind::Mismatch, message))
}

fn numbers_of(value: ValueRef<'_>, dimensions: u16) -> Result<impl Iterator<Item = f32> + '_> {
    let ValueRef::Bytes(bytes) = value else {
        return Err(Error::mismatch("a vector", value));
    };
    if !bytes.len().is_multiple_of(4) {
        return Err(Error::mismatch("a vector, 4 bytes for each number", value));
    }
    check_length(bytes.len() / 4, dimensions)?;
    Ok(vector_numbers(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_stored_lowest_byte_first() {
        let vector = Vector::from([1.0, -2.0]);
        let value = vector.to_value().unwrap().into_owned();
        assert_eq!(value, Value::from(vec![0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]));
        assert_eq!(Vector::from_value(value.as_ref()).unwrap(), vector);
        let mut other = Vector::<2>::default();
        other.read_from(value.as_ref()).unwrap();
        assert_eq!(other, vector);
    }

    #[test]
    fn what_is_no_vector_of_the_column_is_rejected() {
        let rejected = |value: ValueRef<'_>| Vector::<2>::from_value(value).unwrap_err();
        for (bytes, message) in [
            (&[0; 4][..], "the vector has 1 number, and its column has 2"),
            (&[0; 7], "expected a vector, 4 bytes for each number, found 7 bytes"),
        ] {
            let error = rejected(ValueRef::Bytes(bytes));
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::Mismatch, message.into()));
        }
        assert_eq!(rejected(ValueRef::Text("[1, 2]")).kind(), ErrorKind::Mismatch);
        for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = Vector::from([0.0, number]).to_value().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
            let error = check_vector(&vector_bytes(&[0.0, number]), 2).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
        }
    }
}
