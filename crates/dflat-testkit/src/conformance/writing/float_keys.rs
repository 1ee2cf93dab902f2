//! Laws of primary keys with floats: no object has NaN as its key.

use dflat::{ChangeRequest, Error, ErrorKind, Result, UpdatedObject};

use crate::fixture::{Fixture, Open};
use crate::schema::{Gauge, GaugeData, Item, Scale, ScaleData};

type GaugeRequest = ChangeRequest<Gauge>;
type ScaleRequest = ChangeRequest<Scale>;

fn gauge(at: f64) -> GaugeData {
    GaugeData {
        at,
        note: Some(format!("at {at}")),
    }
}

fn scale(zone: &str, weight: f32) -> ScaleData {
    ScaleData {
        zone: zone.into(),
        weight,
        note: None,
    }
}

fn assert_refused(error: &Error, type_name: &str, field: &str) {
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let text = error.to_string();
    assert!(text.contains(type_name), "{text}");
    assert!(text.contains(&format!("`{field}`")), "{text}");
    assert!(text.contains("NaN"), "{text}");
}

fn gauges(w: &Fixture) -> Vec<f64> {
    let all = w.fetch::<Gauge>().all().unwrap();
    all.iter().map(Gauge::at).collect()
}

pub fn nan_is_refused_as_a_key(open: Open) {
    let w = open();
    w.perform([Gauge::TABLE], |tx| {
        tx.submit(GaugeRequest::creation(gauge(1.0)))?;
        for nan in [f64::NAN, -f64::NAN] {
            for request in [GaugeRequest::creation, GaugeRequest::upsert] {
                let refused = tx.submit(request(gauge(nan))).unwrap_err();
                assert_refused(&refused, "Gauge", "at");
            }
        }
        // The transaction goes on.
        tx.submit(GaugeRequest::creation(gauge(2.0)))
    });
    assert_eq!(gauges(&w), [1.0, 2.0]);
    let alone = w.perform_changes([Gauge::TABLE], |tx| {
        tx.submit(GaugeRequest::creation(gauge(f64::NAN)))
    });
    assert_refused(&alone.wait().unwrap_err(), "Gauge", "at");
    assert_eq!(gauges(&w), [1.0, 2.0]);
}

pub fn nan_is_refused_as_a_part_of_a_key(open: Open) {
    let w = open();
    w.perform([Scale::TABLE], |tx| {
        for zone in ["", "a"] {
            for request in [ScaleRequest::creation, ScaleRequest::upsert] {
                let refused = tx.submit(request(scale(zone, f32::NAN))).unwrap_err();
                assert_refused(&refused, "Scale", "weight");
            }
        }
        tx.submit(ScaleRequest::creation(scale("", 0.5)))
    });
    assert_eq!(w.fetch::<Scale>().count().unwrap(), 1);
}

pub fn change_of_a_key_to_nan_is_refused(open: Open) {
    let w = open();
    let one = w.create::<Gauge>([gauge(1.0)]).remove(0);
    let part = w.create::<Scale>([scale("a", 1.0)]).remove(0);
    w.perform([Gauge::TABLE, Scale::TABLE], move |tx| {
        let mut request = GaugeRequest::change(tx, &one)?.unwrap();
        request.at = f64::NAN;
        assert_refused(&tx.submit(request).unwrap_err(), "Gauge", "at");
        let mut request = ScaleRequest::change(tx, &part)?.unwrap();
        request.weight = f32::NAN;
        assert_refused(&tx.submit(request).unwrap_err(), "Scale", "weight");
        // The transaction goes on.
        let mut request = GaugeRequest::change(tx, &one)?.unwrap();
        request.at = 3.0;
        let moved = tx.submit(request)?;
        assert!(matches!(moved, UpdatedObject::Updated(_)));
        Ok(())
    });
    assert_eq!(gauges(&w), [3.0]);
    assert!(w.get::<Gauge>(3.0).unwrap().is_some());
    assert!(w.get::<Gauge>(1.0).unwrap().is_none());
    assert_eq!(w.fetch::<Scale>().filter(Scale::WEIGHT.is_null()).count().unwrap(), 0);
    let by_condition = w.perform_changes([Gauge::TABLE], |tx| {
        tx.update_where::<Gauge>(Gauge::AT.gt(0.0), |data| {
            data.at = f64::NAN;
        })
    });
    assert_refused(&by_condition.wait().unwrap_err(), "Gauge", "at");
    assert_eq!(gauges(&w), [3.0]);
}

pub fn nan_as_a_key_finds_nothing(open: Open) {
    let w = open();
    w.create::<Gauge>([1.0, f64::NEG_INFINITY, f64::INFINITY].map(gauge));
    w.create::<Scale>([scale("a", 1.0)]);
    assert!(w.get::<Gauge>(f64::NAN).unwrap().is_none());
    assert!(w.get::<Scale>(("a", f32::NAN)).unwrap().is_none());
    let many = w.get_many::<Gauge>([f64::NAN, 1.0, f64::INFINITY]).unwrap();
    assert!(many[0].is_none() && many[1].is_some() && many[2].is_some());
    let found = |condition| w.fetch::<Gauge>().filter(condition).count().unwrap();
    assert_eq!(found(Gauge::AT.eq(f64::NAN)), 0);
    assert_eq!(found(Gauge::AT.ne(f64::NAN)), 0);
    assert_eq!(found(Gauge::AT.in_([f64::NAN])), 0);
    assert_eq!(found(Gauge::AT.in_([f64::NAN, 1.0])), 1);
    assert_eq!(found(Gauge::AT.is_null()), 0);
}

pub fn copy_with_nan_as_a_key_is_refused(open: Open) {
    let w = open();
    w.create::<Item>([crate::conformance::samples::item("a", 1)]);
    let copied = w.copy_table::<Item, Gauge>(|_| -> Result<GaugeData> { Ok(gauge(f64::NAN)) });
    assert_refused(&copied.run().unwrap_err(), "Gauge", "at");
    assert_eq!(gauges(&w), [0.0; 0]);
}

pub fn zeros_of_both_signs_are_one_key(open: Open) {
    let w = open();
    w.create::<Gauge>([gauge(0.0)]);
    w.perform([Gauge::TABLE], |tx| {
        let refused = tx.submit(GaugeRequest::creation(gauge(-0.0))).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        let replaced = tx.submit(GaugeRequest::upsert(gauge(-0.0)))?;
        assert!(matches!(replaced, UpdatedObject::Updated(_)));
        Ok(())
    });
    for zero in [0.0, -0.0] {
        let found = w.get::<Gauge>(zero).unwrap().unwrap();
        assert!(found.at().is_sign_negative());
    }
}
