//! Indented text.

/// Swift text that grows line by line.
#[derive(Default)]
pub(super) struct Text {
    text: String,
    depth: usize,
}

impl Text {
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        for line in line.as_ref().split('\n') {
            if !line.is_empty() {
                self.text.extend(std::iter::repeat_n("  ", self.depth));
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
    }

    pub(super) fn blank(&mut self) {
        if !self.text.ends_with("{\n") && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Prints `head {`, the inside and `}`.
    pub(super) fn block(&mut self, head: impl AsRef<str>, inside: impl FnOnce(&mut Self)) {
        self.line(format!("{} {{", head.as_ref()));
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.line("}");
    }

    /// As `block`, after a blank line.
    pub(super) fn item(&mut self, head: impl AsRef<str>, inside: impl FnOnce(&mut Self)) {
        self.blank();
        self.block(head, inside);
    }

    pub(super) fn indented(&mut self, inside: impl FnOnce(&mut Self)) {
        self.depth += 1;
        inside(self);
        self.depth -= 1;
    }

    /// Prints the schema's comment.
    pub(super) fn docs(&mut self, docs: &[String]) {
        for line in docs {
            self.line(format!("/// {line}").trim_end());
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Bytes in base 64.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut three = [0; 3];
        three[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit) & 63) as usize;
            let used = digit <= chunk.len();
            text.push(if used { char::from(DIGITS[value]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_pads_to_four_digits() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }
}
