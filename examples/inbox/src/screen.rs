//! The terminal: draws the view, and asks for keys.

use std::io::{self, Stdout, Write};
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEventKind};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue};

use crate::view::{LISTS, Shown};

/// The terminal, which is as it was before when this is dropped.
pub(crate) struct Screen(Stdout);

/// Where the user is: a list, and a line in it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    pub list: usize,
    pub line: usize,
}

impl Screen {
    pub(crate) fn open() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let mut screen = Self(io::stdout());
        execute!(screen.0, EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }

    /// The next key, if there is one soon.
    pub(crate) fn key(&self) -> io::Result<Option<KeyCode>> {
        if !event::poll(Duration::from_millis(50))? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => Some(key.code),
            _ => None,
        })
    }

    pub(crate) fn draw(&mut self, view: &Shown, place: Place, is_paused: bool) -> io::Result<()> {
        let (columns, _) = terminal::size()?;
        draw(&mut self.0, columns, view, place, is_paused)
    }
}

/// Draws the view for a terminal with this number of columns.
pub(crate) fn draw(
    to: &mut impl Write,
    columns: u16,
    view: &Shown,
    place: Place,
    is_paused: bool,
) -> io::Result<()> {
    let width = usize::from(columns) / LISTS.len();
    queue!(to, Clear(ClearType::All))?;
    for (number, (name, rows)) in LISTS.iter().zip(&view.lists).enumerate() {
        let left = u16::try_from(number * width).unwrap_or(u16::MAX);
        queue!(to, cursor::MoveTo(left, 0), SetAttribute(Attribute::Bold))?;
        queue!(to, Print(name), SetAttribute(Attribute::Reset))?;
        for (line, row) in (1_u16..).zip(rows) {
            queue!(to, cursor::MoveTo(left, line + 1))?;
            if (place.list, place.line) == (number, usize::from(line) - 1) {
                queue!(to, SetAttribute(Attribute::Reverse))?;
            }
            let text: String = row.text.chars().take(width.saturating_sub(2)).collect();
            queue!(to, Print(text), SetAttribute(Attribute::Reset))?;
        }
    }
    let bottom = u16::try_from(crate::mail::SHOWN + 3).unwrap_or(u16::MAX);
    let network = if is_paused { "paused" } else { "busy" };
    let (unread, shown) = (view.unread, view.deliveries);
    let status = format!("{unread} unread   {shown} deliveries shown   network {network}");
    queue!(to, cursor::MoveTo(0, bottom), Print(status))?;
    let keys = "up, down, tab: go   r: read   s: star   d: delete   p: pause   q: quit";
    queue!(to, cursor::MoveTo(0, bottom + 1), Print(keys))?;
    to.flush()
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = execute!(self.0, LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}
