//! The file format.

use serde::{Deserialize, Serialize};

use super::super::log::{Log, Type};
use super::error::CertificateError;
use super::version::FORMAT;
use crate::rules::Tier;

/// A proof as a file holds it. Nothing in it is trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Names the format.
    pub format: String,
    /// The version of the program that wrote it.
    pub tool: String,
    /// Fingerprint of the rule set, in hexadecimal.
    pub rules: String,
    /// What the steps are to show.
    pub claim: Claim,
    /// Which inputs are the same tensor.
    pub binding: Binding,
    /// Terms and steps.
    pub log: Log,
    /// Pairs of values that the steps make equal, where regions end: node and slot in A, node and slot in B.
    pub cuts: Vec<[u32; 4]>,
}

/// What the file says that it proves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub verdict: CertifiedVerdict,
    /// As reports write it; only for `equivalent`.
    pub tier: Option<String>,
}

impl Claim {
    pub fn equivalent(tier: Tier) -> Claim {
        Claim { verdict: CertifiedVerdict::Equivalent, tier: Some(tier.to_string()) }
    }

    pub fn different() -> Claim {
        Claim { verdict: CertifiedVerdict::Different, tier: None }
    }

    pub fn unknown() -> Claim {
        Claim { verdict: CertifiedVerdict::Unknown, tier: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CertifiedVerdict {
    Equivalent,
    Different,
    Unknown,
}

/// Which inputs are the same tensor: inputs of one number are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    pub types: Vec<Type>,
    /// Name and number of every input of A, in order.
    pub a: Vec<(String, u32)>,
    pub b: Vec<(String, u32)>,
}

impl Certificate {
    /// The text of a file.
    pub fn to_json(&self) -> String {
        // The types above have no maps with keys other than text, so writing cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// Text that is no proof file, or one of another version.
    pub fn from_json(text: &str) -> Result<Certificate, CertificateError> {
        /// What files of every version have.
        #[derive(Deserialize)]
        struct Version {
            format: String,
        }
        let version: Version = serde_json::from_str(text).map_err(|e| CertificateError::NoProof(e.to_string()))?;
        if version.format != FORMAT {
            return Err(CertificateError::Version(version.format));
        }
        serde_json::from_str(text).map_err(|e| CertificateError::NoProof(e.to_string()))
    }
}
