"""Makes the pictures of docs/report.md: the report on tests/python/oracles/reported_program.py in Chromium.

    .venv/bin/python -P scripts/screenshots.py

Needs chromium and chromedriver (Debian: chromium-driver), and selenium (the extra `test`).
"""

import pathlib
import shutil
import sys
import tempfile

from selenium import webdriver

ROOT = pathlib.Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path.append(str(ROOT / "tests" / "python" / "oracles"))


def main() -> None:
    import reported_program

    import minidynamo

    with minidynamo.config.patch(stop_where_slower=False):
        reported_program.main()
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,980"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=shutil.which("chromedriver")))
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "report.html"
        # Without the folder of this checkout.
        page.write_text(minidynamo.report().html().replace(f"{ROOT}/tests/python/oracles/reported_program.py", "program.py"))
        driver.get(page.as_uri())
        driver.save_screenshot(str(IMAGES / "report.png"))
        next(row for row in driver.find_elements("css selector", "tr.function") if "Encoder" in row.text).click()
        driver.set_window_size(1200, 760)
        driver.save_screenshot(str(IMAGES / "report_function.png"))
    driver.quit()


if __name__ == "__main__":
    main()
