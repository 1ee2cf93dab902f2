use std::fs;

use dflat::pack::{Pack, PackChange};
use dflat::{Error, Result};

dflat::include_schema!("task");

fn task(id: u64, title: &str, done: bool) -> TaskData {
    TaskData {
        id,
        title: Some(title.to_owned()),
        done,
    }
}

fn main() -> Result<()> {
    fs::create_dir_all("packs").map_err(Error::user)?;

    // Objects in any order; the file is named by its content.
    let shipped = Pack::build::<Task>(
        "packs",
        [
            task(3, "sow beans", false),
            task(1, "dig", true),
            task(2, "rake", false),
        ],
    )?;
    println!("packs/{}", shipped.digest().file_name());

    // A pack is read as a workspace is.
    let open = shipped.fetch::<Task>().filter(Task::DONE.eq(false));
    println!("{} open tasks", open.count()?);
    let tasks = shipped.objects::<Task>()?;
    println!("task 3 is at position {:?}", tasks.index_of(3)?);

    // Changes are a layer, a small file that names the pack by its digest.
    let done = task(2, "rake", true);
    let amended = shipped.edit().upsert::<Task>(&done).remove::<Task>(1);
    let amended = amended.finish()?.save("packs")?;
    let again = Pack::open(amended.path())?;
    println!("{} tasks", again.objects::<Task>()?.len());
    for change in Pack::diff::<Task>(&shipped, &again)? {
        match change? {
            PackChange::Inserted(task) => println!("inserted {}", task.id()),
            PackChange::Updated { before, after } => {
                println!("task {}: {} to {}", after.id(), before.done(), after.done());
            }
            PackChange::Removed(task) => println!("removed {}", task.id()),
        }
    }

    // One file of both has the bytes of a direct build, and so its name.
    let direct = Pack::build::<Task>("packs", [task(3, "sow beans", false), done])?;
    assert_eq!(again.compact("packs")?.digest(), direct.digest());
    Ok(())
}
