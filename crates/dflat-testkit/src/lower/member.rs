//! From the model's conditions on members of vectors to typed ones.

use dflat::{Element, Member, Predicate, VectorField};

use super::compare;
use crate::model::{Each, Share};
use crate::schema::{Note, Photo, Sample};

/// Converts a condition on members to a typed condition.
pub(super) fn members(share: Share, each: &Each) -> Predicate<Sample> {
    match each {
        Each::Tag(crate::model::Operator::Equal, tag) if share == Share::Any => {
            Sample::TAGS.contains(tag)
        }
        Each::Tag(operator, tag) => of(Sample::TAGS, share, |member| {
            compare(member, *operator, tag)
        }),
        Each::Score(operator, score) => of(Sample::SCORES, share, |member| {
            compare(member, *operator, *score)
        }),
        Each::Note(operator, stars, text) => of(Sample::NOTES, share, |note| {
            let starred = compare(note.stars(), *operator, *stars);
            match text {
                None => starred,
                Some(text) => starred & note.text().eq(text),
            }
        }),
        Each::SpotX(operator, x) => of(Sample::SPOTS, share, |spot| {
            compare(spot.x(), *operator, *x)
        }),
        Each::SpotY(operator, y) => of(Sample::SPOTS, share, |spot| {
            compare(spot.y(), *operator, *y)
        }),
        Each::BodyTag(code) => of(Sample::BODIES, share, |body| match code {
            1 => body.matches::<Note>(),
            2 => body.matches::<Photo>(),
            _ => body.tag().eq(*code),
        }),
        Each::BodyStars(operator, stars) => of(Sample::BODIES, share, |body| {
            compare(body.as_::<Note>().stars(), *operator, *stars)
        }),
    }
}

fn of<E: Element + ?Sized>(
    vector: VectorField<Sample, E>,
    share: Share,
    condition: impl FnOnce(E::Fields<Member<Sample>>) -> Predicate<Member<Sample>>,
) -> Predicate<Sample> {
    match share {
        Share::All => vector.all(condition),
        Share::Any => vector.any(condition),
    }
}
