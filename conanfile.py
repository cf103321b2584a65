"""Tessera as a Conan 2 package, made by the project's own CMake:  conan create . --build=missing"""

import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import load


class Tessera(ConanFile):
    name = "tessera"
    description = "A from-scratch C++20 tensor library with transformer encoders on the CPU"
    license = "MIT"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "openmp": [True, False]}
    default_options = {"shared": False, "openmp": True}
    exports = "tensor/version.h"
    exports_sources = "CMakeLists.txt", "LICENSE", "tensor/*", "nn/*", "models/*"

    def set_version(self):
        header = load(self, f"{self.recipe_folder}/tensor/version.h")
        self.version = ".".join(re.findall(r"kVersion(?:Major|Minor|Patch) = (\d+)", header))

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("nlohmann_json/3.11.3", visible=False)  # compiled in
        self.requires("utf8proc/2.9.0")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Tessera is for Linux")

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TESSERA_BUILD_TESTS"] = "OFF"
        toolchain.cache_variables["TESSERA_BUILD_EXAMPLES"] = "OFF"
        toolchain.cache_variables["TESSERA_BUILD_BENCHMARKS"] = "OFF"
        toolchain.cache_variables["TESSERA_OPENMP"] = "ON" if self.options.openmp else "OFF"
        toolchain.cache_variables["TESSERA_MPI"] = "OFF"  # a cluster has its own
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install(component="tessera")

    def package_info(self):
        # The installed tessera-config.cmake knows the targets and what they need.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/tessera"]
