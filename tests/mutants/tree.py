"""A copy of the tree with its objects, in which one mutant after the other is built."""
import glob
import os
import shutil
import subprocess

LEFT_OUT = {".git", "build"}
BUILD = "build/release"
LUAC = shutil.which("luac5.1") or "luac-5.1"
BUILT = ("clients", "faults", "former", "promtool")  # what suites use besides


class Tree:
    def __init__(self, folder):
        self.folder = folder
        self.original = None  # the text of the file that is broken
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(f"{folder}/build")
        for name in sorted(set(os.listdir(".")) - LEFT_OUT):
            copy(name, folder)
        for name in (BUILD, *(f"build/{name}" for name in BUILT)):
            if os.path.isdir(name):
                copy(name, f"{folder}/build")

    def build(self, units):
        """None, or what the compiler says."""
        programs = [f"{BUILD}/{unit[:-2]}" for unit in units]
        return self.make("all", f"{BUILD}/sim", *programs)

    def build_simulation(self):
        return self.make(f"{BUILD}/sim")

    def build_faults(self):
        return self.make("VARIANT=faults", "all")

    def make(self, *targets):
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "WERROR")}
        done = subprocess.run(["make", "-s", *targets], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return None if done.returncode == 0 else done.stderr or "make failed"

    def write(self, mutant):
        path = f"{self.folder}/{mutant.path}"
        with open(path, encoding="utf-8") as file:
            self.original = file.read()
        write(path, mutant.apply(self.original))

    def restore(self, mutant):
        """With the time of now, so that make compiles it again."""
        write(f"{self.folder}/{mutant.path}", self.original)

    def compile(self, path):
        """What the program has of a file, without what is only for debuggers, or None if
        it does not compile."""
        if path.endswith(".lua"):
            return self.compile_scripts()
        target = f"{BUILD}/{path[:-2]}.o"
        if self.make(target) is not None:
            return None
        bare = f"{self.folder}/build/bare.o"
        subprocess.run(["objcopy", "--strip-debug", f"{self.folder}/{target}", bare],
                       check=True)
        with open(bare, "rb") as file:
            return file.read()

    def compile_scripts(self):
        target = f"{BUILD}/src/lock/scripts"
        if self.make(f"{target}.c") is not None:
            return None
        code = []
        for path in sorted(glob.glob(f"{self.folder}/{target}/*.lua")):
            done = subprocess.run([LUAC, "-s", "-o", "-", path], capture_output=True)
            if done.returncode:
                return None
            code.append(done.stdout)
        return code


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def copy(name, folder):
    subprocess.run(["cp", "-a", name, folder], check=True)
