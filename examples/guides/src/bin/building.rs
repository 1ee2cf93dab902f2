use dflat::Payload;

pub mod schema {
    dflat::include_schema!("task");
}

use schema::TaskData;

fn main() -> dflat::Result<()> {
    let task = TaskData {
        id: 7,
        title: Some("build".to_owned()),
        done: true,
    };
    let bytes = task.to_bytes()?;
    println!("{:?}", TaskData::from_bytes(&bytes)?);
    Ok(())
}
